//===- RowLoops.h - row loops and loops inside a row ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Classifies the loops of a member of a row group. Row loops are those of the
// group: a team of threads computes one row at a time. Inner loops are inside a
// row: their iterations, numbered as those of one loop ("turns"), are divided
// among the threads of the team. Turn e belongs to the same thread in all
// members with equally many turns, so a value that is written and read at turn
// e stays in its thread.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_ROWLOOPS_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_ROWLOOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace stagewright::device {

/// How a member uses an operand.
enum class Access {
  Row,     ///< one element for the whole row
  Element, ///< element e at turn e
  Other,
};

struct RowLoops {
  mlir::linalg::LinalgOp op;
  llvm::SmallVector<int64_t> ranges;
  llvm::SmallVector<unsigned> rows;  ///< by row of the group: its loop
  llvm::SmallVector<unsigned> inner; ///< others, except unit parallel ones
  bool reduces = false;              ///< all inner loops are reductions
  bool sumsRows = false;             ///< all rows are reductions, no inner loop

  /// The loops of a member, of which `rows` are rows. Fails for other mixtures
  /// of reductions than the two above, and for reductions without a Combiner.
  static mlir::FailureOr<RowLoops> get(mlir::linalg::LinalgOp op,
                                       llvm::ArrayRef<unsigned> rows);
  /// The same by attribute kRows. Fails for operations without it.
  static mlir::FailureOr<RowLoops> get(mlir::Operation *op);

  /// The number of turns: the product of the extents of the inner loops.
  int64_t turns() const;
  /// The product of the extents of the rows.
  int64_t numRows() const;

  /// How the operand with this map is used.
  Access accessOf(mlir::AffineMap map) const;

  /// For each dimension of an operand: the number of its row (from 0), or -2
  /// minus the number of its inner loop, or -1 if its index is 0. Equal lists
  /// mean equal elements.
  llvm::SmallVector<int> placesOf(mlir::AffineMap map) const;
};

/// Sets attribute kRows.
void markRows(mlir::Operation *op, llvm::ArrayRef<unsigned> rows);

/// The operation by which a reduction combines the value so far with an
/// element, and its identity.
struct Combiner {
  mlir::Operation *op = nullptr; ///< in the body of the reduction
  mlir::TypedAttr identity;

  /// Creates a copy of `op` that combines `sum` and `term`.
  mlir::Value combine(mlir::OpBuilder &builder, mlir::Value sum,
                      mlir::Value term) const;
};

/// The combiner of result `index` of a reduction. Fails if it has no identity
/// or if the value so far has another use.
mlir::FailureOr<Combiner> matchCombiner(mlir::linalg::LinalgOp op,
                                        unsigned index);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_ROWLOOPS_H
