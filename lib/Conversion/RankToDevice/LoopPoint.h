//===- LoopPoint.h - one element of an operation in a loop ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels with loops share: the operation inside of the loops writes a
// row, and each thread computes one element of it.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_LOOPPOINT_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_LOOPPOINT_H

#include "ThreadWriter.h"

namespace stagewright::device {

/// Threads of a block, at most.
constexpr int64_t kLoopThreads = 128;

/// Whether `op` reads and writes element i of every operand in turn i.
bool isElementByElement(mlir::linalg::LinalgOp op);

/// Whether two turns of a loop may write windows of which one begins within the
/// other, so that an element is not always the same thread's.
bool mayOverlap(mlir::memref::SubViewOp window);

/// Loads the elements that `op` reads at `indices` of its loops, computes its
/// body, and stores what that yields.
void writePoint(ThreadWriter &writer, mlir::linalg::LinalgOp op,
                mlir::ValueRange indices);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_LOOPPOINT_H
