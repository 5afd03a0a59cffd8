//===- RowBlocks.h - blocks of the rows of a group --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last row of a group is cut into blocks, whose size divides its extent;
// the others go one by one. Blocks are counted by one number, so that a loop
// over them divides well among threads. In a nested group an outer number
// counts all rows but the last, and an inner one the blocks of that.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_ROWS_ROWBLOCKS_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_ROWS_ROWBLOCKS_H

#include "GroupRows.h"

namespace stagewright::host {

/// The part of a tensor that belongs to a block.
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

  /// Computes where block `number` begins; in a nested group all but the last
  /// row.
  void enter(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value number);
  void enterInner(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::Value number);

  /// First index of the block in every row.
  llvm::ArrayRef<mlir::OpFoldResult> begins() const { return offsets; }

  /// The part that `member` needs of a tensor that it indexes by `map`.
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
