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
  /// By row loop of the group: the loop of `op`.
  llvm::SmallVector<unsigned> rows;
  /// The other loops, except parallel ones of extent 1.
  llvm::SmallVector<unsigned> inner;
  bool reduces = false;  ///< all inner loops, at least one, are reductions
  bool sumsRows = false; ///< all row loops are reductions, no inner loop is

  /// The loops of a member whose row loops are `rows`. Fails if some loops are
  /// reductions but not exactly one of `reduces` and `sumsRows` holds, if
  /// `sumsRows` holds without inner loops, or if a reduction has no Combiner.
  static mlir::FailureOr<RowLoops> get(mlir::linalg::LinalgOp op,
                                       llvm::ArrayRef<unsigned> rows);
  /// The same by attribute kRows. Fails for operations without it.
  static mlir::FailureOr<RowLoops> get(mlir::Operation *op);

  /// The number of turns: the product of the extents of the inner loops.
  int64_t turns() const;
  /// The number of rows: the product of the extents of the row loops.
  int64_t numRows() const;

  /// How the operand with this map is used.
  Access accessOf(mlir::AffineMap map) const;

  /// For each dimension of an operand whose access is not Other: the number of
  /// its row loop (from 0), or -2 minus the number of its inner loop, or -1 if
  /// its index is 0. Equal lists mean equal elements.
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
