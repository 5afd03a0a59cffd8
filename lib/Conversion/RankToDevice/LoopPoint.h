//===- LoopPoint.h - one element of an operation in a loop ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The common part of kernels with loops: the operation inside the loops writes
// a row, of which each thread computes one element.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_LOOPPOINT_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_LOOPPOINT_H

#include "ThreadWriter.h"

namespace stagewright::device {

/// Max number of threads of a block.
constexpr int64_t kLoopThreads = 128;

/// Bytes of shared memory that the arrays allocated in `op` take; none if a
/// size is not known.
std::optional<int64_t> allocatedBytes(mlir::Operation *op);

/// Whether iteration i of `op` reads and writes element i of every operand.
bool isElementByElement(mlir::linalg::LinalgOp op);

/// Whether the windows that two loop iterations write may overlap with
/// different starts, so that an element is not always written by the same
/// thread.
bool mayOverlap(mlir::memref::SubViewOp window);

/// Loads the elements that `op` reads at loop indices `indices`, computes its
/// body, and stores the yielded values.
void writePoint(ThreadWriter &writer, mlir::linalg::LinalgOp op,
                mlir::ValueRange indices);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_LOOPPOINT_H
