//===- KernelWork.h - bytes and arithmetic of a kernel ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one launch of a kernel does, whatever the data: the manifest has it, and
// `--explain-time` makes a time of it.
//
// Bytes are those of distinct elements, each counted once however often the
// kernel reads it: a broadcast operand counts as long as it is, and what the
// kernel wrote itself is not read again. Data-dependent places count once for
// each turn of the loops, at most the whole array; an element that such a place
// names by itself, and not with its neighbours, moves a sector of 32 bytes
// ("CUDA C++ Best Practices Guide", "Coalesced Access to Global Memory").
// Memory moves at least this much if nothing of it lies in the second cache.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_KERNELWORK_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_KERNELWORK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace stagewright::device {

struct KernelWork {
  int64_t read = 0, written = 0; ///< bytes
  double flops = 0;              ///< scalar operations, as CountFlops.h counts
};

/// Counts `kernel` as it was outlined, before its code is written. Linear in
/// its operations, but for the places of loads and stores.
KernelWork workOfKernel(mlir::func::FuncOp kernel);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_KERNELWORK_H
