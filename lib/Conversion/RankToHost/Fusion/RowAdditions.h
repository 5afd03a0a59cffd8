//===- RowAdditions.h - loops that add rows to a table ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_FUSION_ROWADDITIONS_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_FUSION_ROWADDITIONS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace stagewright::host {

/// A nest of loops over a table of which each turn adds a row to a slice that
/// it computes, perhaps under a condition, and does nothing else to the table:
/// the gradient of a lookup.
class RowAdditions {
public:
  static std::optional<RowAdditions> match(mlir::scf::ForOp outermost);

  /// What the table is before the first turn.
  mlir::Value start() { return outermost.getInitArgs()[0]; }

  /// Starts from `sum`, of the table's shape and of its type or a wider float;
  /// rows are then added in the type of `sum`. Returns the table after the last
  /// turn.
  mlir::Value addTo(mlir::Value sum);

private:
  bool descend(mlir::Value table, mlir::Value result);
  bool matchUpdate(mlir::Value table, mlir::tensor::InsertSliceOp stored);
  void widen(mlir::FloatType type);

  mlir::scf::ForOp outermost;
  llvm::SmallVector<mlir::Value> tables; ///< all that the table is called
  mlir::linalg::GenericOp update;        ///< of the slice, by a row
  mlir::arith::AddFOp add;               ///< of one element
};

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_FUSION_ROWADDITIONS_H
