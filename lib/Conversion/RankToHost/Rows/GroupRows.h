//===- GroupRows.h - operations that walk the same rows ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group is a set of linalg operations that share outer loops, its rows, such
// as (batch, token): row by row, each reads what the others made of that same
// row. One loop over blocks of rows can hold them all, and what they pass to
// each other then is as small as a block. Two members may be joined by a value
// that one makes and the other reads, or by one that both read.
//
// Nothing outside a group lies on a path from a member to a member, so its loop
// can stand at one place of the block.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_ROWS_GROUPROWS_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_ROWS_GROUPROWS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace stagewright::host {

struct RowMember {
  mlir::linalg::LinalgOp op;
  llvm::SmallVector<unsigned> loops; ///< its loop for each row of the group
  /// It adds what some rows hold to a result that does not have those rows (the
  /// gradient of a bias). No other member reads that result.
  bool sums = false;

  bool sumsOver(size_t row) const;
};

struct RowGroup {
  llvm::SmallVector<RowMember> members; ///< in the order of the block
  llvm::SmallVector<int64_t> extents;   ///< of the rows

  int64_t numRows() const;
  /// Bytes of all values that the members make or read in one row.
  int64_t bytesPerRow() const;
  /// Bytes in one row of the largest value that has all rows.
  int64_t largestPerRow() const;
  /// Whether a member is a contraction: then it is the scores of attention that
  /// stay in a block.
  bool hasContraction() const;
  /// Whether some, not all rows are summed: within one iteration over the
  /// others, blocks of that one row, the last, follow each other.
  bool isNested() const;

  void dropRow(size_t row);
  /// Drops rows at which a member reads what another makes for other rows.
  void keepAgreedRows();
  /// Drops those, and what is no row for some member; all rows if the sums of
  /// members do not fit together.
  void keepCommonRows();
  /// The group without rows along which its largest values are contiguous;
  /// those stay whole.
  RowGroup withoutContiguous() const;
  /// Puts rows in the order in which they lie in the largest value, summed ones
  /// last.
  void sortRows();
};

/// The loop for every dimension of an operand with this map, or -1.
llvm::SmallVector<int> loopsOf(mlir::AffineMap map);

/// The loop of `op` by which `gather`, in its body, indexes every dimension, or
/// -1.
llvm::SmallVector<int> loopsOf(mlir::tensor::ExtractOp gather,
                               mlir::linalg::LinalgOp op);

/// Whether `op` adds to its one initial value and uses it in no other way.
bool onlyAdds(mlir::linalg::LinalgOp op);

/// The tensors `op` reads inside its body, by `tensor.extract`.
llvm::SmallVector<mlir::tensor::ExtractOp> gathersOf(mlir::linalg::LinalgOp op);

/// How large a block may be, in bytes.
struct BlockLimits {
  int64_t values; ///< all values of a block together
  int64_t scores; ///< one value of a group with contractions; 0: no such group
  /// All values of a group: what is smaller stays in the first-level cache.
  int64_t fewest = 32 << 10;
};

/// The groups of at least two members in `block`. Linear in the operations, as
/// long as groups are short.
llvm::SmallVector<RowGroup> findRowGroups(mlir::Block &block,
                                          BlockLimits limits);

/// Replaces the members by a loop over blocks of rows, which stands where the
/// first member stood; the block must be sorted afterwards.
void writeRowLoop(const RowGroup &group, BlockLimits limits,
                  mlir::RewriterBase &rewriter);

/// The operations of its block that `op` reads, by operands and from inside.
llvm::SmallVector<mlir::Operation *> readsOf(mlir::Operation *op);

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_ROWS_GROUPROWS_H
