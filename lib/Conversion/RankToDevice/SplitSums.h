//===- SplitSums.h - sums over many rows, in two kernels --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a bias sums thousands of rows with few columns, the norm of a
// gradient sums all elements: one thread or team per result would use little of
// a device. So the rows are split into parts, which the blocks of one kernel
// sum in parallel, and a second kernel adds the partial sums. The first may be
// the kernel of a row group, which reads the rows anyway. The order of the
// additions is fixed at compile time.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_SPLITSUMS_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_SPLITSUMS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace stagewright::device {

/// Blocks that occupy a device: several for each of its 100 to 150 processors.
constexpr int64_t kBusyBlocks = 512;

/// The number of parts in which the last operation of `group` is summed; 1: it
/// is not split. The other operations are fills, or members of a row group.
int64_t partsOf(llvm::ArrayRef<mlir::Operation *> group);

/// Whether `op` fills the buffer of an initial value of `sum`.
bool fillsInitOf(mlir::Operation *op, mlir::linalg::LinalgOp sum);

struct SplitSum {
  llvm::SmallVector<mlir::Operation *> parts; ///< the group of the first kernel
  llvm::SmallVector<mlir::Operation *> whole; ///< that of the second
  /// Buffers that the operation of the first kernel has as results. Only their
  /// shapes are used: the kernel writes `partial` instead.
  llvm::SmallVector<mlir::Operation *> forms;
  /// What the first kernel writes: a buffer per result, parts as dimension 0.
  llvm::SmallVector<mlir::Value> partial;
};

/// Replaces a group for which partsOf() returned `parts`, at least 2.
SplitSum splitSum(llvm::ArrayRef<mlir::Operation *> group, int64_t parts);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_SPLITSUMS_H
