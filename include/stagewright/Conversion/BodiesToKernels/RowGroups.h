//===- RowGroups.h - operations over the same rows --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group is a set of linalg operations with common outer loops, called rows,
// such as (batch, token): for one row, each member reads only what the others
// made for that row. One loop over blocks of rows can contain all members, and
// the values between them are then as small as a block. Two members are joined
// by a value that one makes and the other reads, or by one that both read.
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
  llvm::SmallVector<unsigned> loops; ///< by row of the group: its loop
  /// It sums over some rows to a result without those rows (the gradient of a
  /// bias). No other member reads that result.
  bool sums = false;

  bool sumsOver(size_t row) const;
};

struct RowGroup {
  llvm::SmallVector<RowMember> members; ///< in program order
  llvm::SmallVector<int64_t> extents;   ///< iterations of each row

  int64_t numRows() const;
  /// Bytes, for one row, of all values that the members make or read.
  int64_t bytesPerRow() const;
  /// Bytes, for one row, of the largest value that all rows index.
  int64_t largestPerRow() const;
  /// Whether a member is a contraction: then the group is one over the scores
  /// of attention.
  bool hasContraction() const;
  /// Whether one row, the last, is summed and the others are not: the loop over
  /// blocks of that row is nested in the loop over the others.
  bool isNested() const;

  void dropRow(size_t row);
  /// Drops rows for which a member reads what another makes for other rows.
  void keepAgreedRows();
  /// Also drops loops that cannot be a row of every member, and rows that do
  /// not fit the sums of all members; all rows if nothing fits.
  void keepCommonRows();
  /// The group without rows along which its largest values are contiguous; a
  /// block has all of such a dimension.
  RowGroup withoutContiguous() const;
  /// Sorts rows as the dimensions of the largest value, summed rows last.
  void sortRows();
};

/// For each result of `map`: the loop that it is, or -1.
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
  int64_t values; ///< all values of a block
  int64_t scores; ///< largest value, if any contracts; 0: no such group
  /// Min for all values of a group: smaller ones stay in the L1 cache anyway.
  int64_t fewest = 32 << 10;
};

/// The groups of at least two members in `block`. Linear in the number of
/// operations if groups are small. Operations that are `apart` join none.
llvm::SmallVector<RowGroup>
findRowGroups(mlir::Block &block, BlockLimits limits,
              llvm::function_ref<bool(mlir::Operation *)> apart = nullptr);

/// The operations of its block whose results `op` or its regions read.
llvm::SmallVector<mlir::Operation *> readsOf(mlir::Operation *op);

struct BlockOrder {
  /// Operations that become adjacent, each list in its order, at the place of
  /// its last one or before the first that reads one of them.
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
