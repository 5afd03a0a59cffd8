//===- SplitSums.h - sums over many rows, in two kernels --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a bias is a sum over thousands of rows with few columns, the
// norm of a gradient one over everything: a thread, or a team, for each result
// would leave a device idle. So the rows are cut into parts, which blocks of
// one kernel sum at once, and a second kernel adds up the parts. The first may
// be that of a row group, which has read the rows anyway. The order of the
// additions is that of the program, not of the run.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_SPLITSUMS_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_SPLITSUMS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace stagewright::device {

/// Blocks that keep a device busy: some for each of its 100 to 150 processors.
constexpr int64_t kBusyBlocks = 512;

/// In how many parts the last operation of a group on buffers is summed, the
/// others being fills, or a row group; 1: as a whole.
int64_t partsOf(llvm::ArrayRef<mlir::Operation *> group);

struct SplitSum {
  llvm::SmallVector<mlir::Operation *> parts; ///< the group of the first kernel
  llvm::SmallVector<mlir::Operation *> whole; ///< and of the second
  /// What the operation of the first writes by its form, and its kernel does
  /// not: of its results only the shape counts.
  llvm::SmallVector<mlir::Operation *> forms;
  /// What its kernel writes: parts (outer) and results.
  llvm::SmallVector<mlir::Value> partial;
};

/// Replaces such a group.
SplitSum splitSum(llvm::ArrayRef<mlir::Operation *> group, int64_t parts);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_SPLITSUMS_H
