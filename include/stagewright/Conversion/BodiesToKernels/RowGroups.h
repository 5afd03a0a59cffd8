//===- RowGroups.h - operations over the same rows --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group is a set of linalg operations with common outer loops, such as those
// over batch and token. These loops are called row loops, and an iteration of
// all of them a row: for one row, each member reads only what the others made
// for that row. One loop over blocks of rows can contain all members, and the
// values between them are then as small as a block. Two members are joined by a
// value that one makes and the other reads, or by one that both read.
//
// No operation outside a group is on a path from a member to a member, so the
// loop can be inserted at one place of the block.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_ROWGROUPS_H
#define STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_ROWGROUPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace stagewright::bodies {

struct RowMember {
  mlir::linalg::LinalgOp op;
  llvm::SmallVector<unsigned> loops; ///< by row loop: the member's own loop
  /// It sums over some row loops, so these do not index its result, such as the
  /// gradient of a bias. No other member reads that result.
  bool sums = false;

  bool sumsOver(size_t row) const;
};

struct RowGroup {
  llvm::SmallVector<RowMember> members; ///< in program order
  llvm::SmallVector<int64_t> extents;   ///< iterations of each row loop

  int64_t numRows() const;
  /// Bytes, for one row, of all inputs and results of the members.
  int64_t bytesPerRow() const;
  /// Bytes, for one row, of the largest value that all row loops index.
  int64_t largestPerRow() const;
  /// Whether a member is a contraction. Only contractions with a large array,
  /// such as the scores of attention, can be members.
  bool hasContraction() const;
  /// Whether a group with a contraction sums over a row loop, which is then the
  /// last one: the loop over blocks of the last row loop is nested in the loop
  /// over blocks of the others.
  bool isNested() const;

  /// Drops row loop `row`.
  void dropRow(size_t row);
  /// Drops row loops for which a member reads what another makes for other
  /// rows.
  void keepAgreedRows();
  /// Calls keepAgreedRows(). Then drops row loops that some member cannot have,
  /// and in a group without a contraction also those over which not all summing
  /// members sum. Drops all row loops if two of them are one loop of a member,
  /// if a group with a contraction sums over more than one, or if a summing
  /// member has none left to sum over.
  void keepCommonRows();
  /// The group without the row loops along which its largest values are
  /// contiguous: every block has the whole of such a dimension.
  RowGroup withoutContiguous() const;
  /// Sorts the row loops like the dimensions of the largest value that all of
  /// them index; in a nested group the one that is summed over comes last.
  void sortRows();
};

/// For each result of `map`: the loop, if the result is the index of one, or
/// -1.
llvm::SmallVector<int> loopsOf(mlir::AffineMap map);

/// For each dimension that `gather`, in the body of `op`, indexes: the loop of
/// `op` whose index it uses, or -1.
llvm::SmallVector<int> loopsOf(mlir::tensor::ExtractOp gather,
                               mlir::linalg::LinalgOp op);

/// Whether `op` has one initial value, and only adds to it.
bool onlyAdds(mlir::linalg::LinalgOp op);

/// The `tensor.extract` operations in the body of `op`.
llvm::SmallVector<mlir::tensor::ExtractOp> gathersOf(mlir::linalg::LinalgOp op);

/// Limits of blocks and groups, in bytes: `values` and `scores` are maxima.
struct BlockLimits {
  /// All values of a block in a group without a contraction.
  int64_t values;
  /// Largest value of a block in a group with a contraction; 0: contractions
  /// join no group.
  int64_t scores;
  /// Min of all values of a group together: the values of smaller groups stay
  /// in the L1 cache anyway.
  int64_t fewest = 32 << 10;
};

/// The groups of at least two members in `block`. Linear in the number of
/// operations if groups are small. Operations for which `apart` is true join no
/// group.
llvm::SmallVector<RowGroup>
findRowGroups(mlir::Block &block, BlockLimits limits,
              llvm::function_ref<bool(mlir::Operation *)> apart = nullptr);

/// The operations in the block of `op` whose results `op` or its regions read.
llvm::SmallVector<mlir::Operation *> readsOf(mlir::Operation *op);

struct BlockOrder {
  /// Lists of operations; those of a list become adjacent, in its order. They
  /// are placed where the last of them was, or further up, before the first
  /// operation that reads one of them.
  llvm::ArrayRef<llvm::SmallVector<mlir::Operation *>> groups = {};
  /// Operations that come just before the first that reads them. May be null.
  llvm::function_ref<bool(mlir::Operation *)> late = nullptr;
  /// Operations that come just after the last one that they read. May be null.
  llvm::function_ref<bool(mlir::Operation *)> early = nullptr;
};

/// Sorts the operations of `block` so that each follows what it reads. Linear
/// in the number of values read, except for those of early operations.
void sortBlock(mlir::Block &block, const BlockOrder &order);

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_ROWGROUPS_H
