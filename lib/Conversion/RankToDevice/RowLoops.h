//===- RowLoops.h - rows and what lies inside a row -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops of a member of a row group by what they are: the rows of the group,
// one of which a team of threads takes at a time, and the loops inside a row,
// whose turns the threads of the team share. Turn e of the inner loops, counted
// as one, belongs to the same thread in every member that has as many; so a
// value that is made at turn e and read at turn e never leaves its thread.
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
  llvm::SmallVector<unsigned> rows;  ///< its loop for each row
  llvm::SmallVector<unsigned> inner; ///< the others of more than one turn
  bool reduces = false;              ///< the inner loops are sums, all of them
  bool sumsRows = false;             ///< the rows are, and no inner loop is

  /// Of a member marked with its rows; fails where inner loops are mixed.
  static mlir::FailureOr<RowLoops> get(mlir::linalg::LinalgOp op);

  /// Turns of the inner loops.
  int64_t turns() const;
  /// And of the rows.
  int64_t numRows() const;

  /// How the operand with this map is used.
  Access accessOf(mlir::AffineMap map) const;

  /// For each dimension of an operand, the row (from 0), or the inner loop
  /// (from -2 downwards), or -1 for an extent of 1: equal lists mean equal
  /// elements.
  llvm::SmallVector<int> placesOf(mlir::AffineMap map) const;
};

/// What a reduction does with the elements of a row: the value so far and the
/// combining operation.
struct Combiner {
  mlir::Operation *op = nullptr; ///< in the body of the reduction
  mlir::TypedAttr identity;

  /// A copy of it, for other values.
  mlir::Value combine(mlir::OpBuilder &builder, mlir::Value sum,
                      mlir::Value term) const;
};

/// The combining operation behind result `index` of a reduction, if it has an
/// identity and the value so far is used in no other way.
mlir::FailureOr<Combiner> matchCombiner(mlir::linalg::LinalgOp op,
                                        unsigned index);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_ROWLOOPS_H
