//===- RowBlocks.h - blocks of the row loops of a group ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last row loop of a group is cut into blocks, whose size divides its
// extent; a block has one index of each other row loop. Blocks have consecutive
// numbers, so that threads can share a loop over them evenly. In a nested group
// (RowGroup::isNested()) an outer number counts the indices of all row loops
// but the last, and an inner one the blocks of the last.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_ROWS_ROWBLOCKS_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_ROWS_ROWBLOCKS_H

#include "GroupRows.h"

namespace stagewright::host {

/// The part of a tensor that one block reads or writes.
struct TensorPart {
  llvm::SmallVector<mlir::OpFoldResult> offsets, sizes, strides;
  bool whole = true;

  void add(mlir::OpFoldResult offset, mlir::OpFoldResult size);
};

class RowBlocks {
public:
  RowBlocks(const RowGroup &group, BlockLimits limits);

  int64_t numOuter() const { return outer; }
  int64_t numInner() const { return inner; }

  /// Computes the first indices of block `number`; in a nested group only those
  /// of the row loops before the last: enterInner() computes that of the last.
  void enter(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value number);
  void enterInner(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::Value number);

  /// The first index of the block in every row loop.
  llvm::ArrayRef<mlir::OpFoldResult> begins() const { return offsets; }

  /// The part of a tensor, indexed by `map`, that `member` uses in the block.
  TensorPart partOf(mlir::RankedTensorType type, mlir::AffineMap map,
                    const RowMember &member) const;

private:
  int64_t chooseSize(BlockLimits limits) const;

  const RowGroup &group;
  size_t last;
  int64_t blockSize, outer, inner;
  llvm::SmallVector<mlir::OpFoldResult> offsets;
};

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_ROWS_ROWBLOCKS_H
