//===- RowAdditions.h - loops that add rows to a table ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_FUSION_ROWADDITIONS_H
#define STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_FUSION_ROWADDITIONS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace stagewright::bodies {

/// A loop nest that carries a table. Each iteration adds a row to a slice of
/// the table, possibly under a condition, and does nothing else to it: the
/// gradient of a lookup.
class RowAdditions {
public:
  static std::optional<RowAdditions> match(mlir::scf::ForOp outermost);

  /// The table before the first iteration.
  mlir::Value start() { return outermost.getInitArgs()[0]; }

  /// Makes the loops start from `sum`, of the table's shape and of its element
  /// type or a wider float type, in which rows are then added. Returns the
  /// table after the last iteration.
  mlir::Value addTo(mlir::Value sum);

private:
  bool descend(mlir::Value table, mlir::Value result);
  bool matchUpdate(mlir::Value table, mlir::tensor::InsertSliceOp stored);
  void widen(mlir::FloatType type);

  mlir::scf::ForOp outermost;
  llvm::SmallVector<mlir::Value> tables; ///< all SSA values of the table
  mlir::linalg::GenericOp update;        ///< adds a row to the slice
  mlir::arith::AddFOp add;               ///< adds one element
};

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_FUSION_ROWADDITIONS_H
