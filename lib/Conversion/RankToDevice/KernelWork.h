//===- KernelWork.h - bytes and arithmetic of a kernel ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The work of one launch of a kernel, independent of the data. It is stored in
// `#rank.kernel`, and `--explain-time` estimates a time from it.
//
// Bytes count each distinct element once, however often the kernel reads it: a
// broadcast operand counts its own size, and values that the kernel itself
// wrote are not read again. Accesses at data-dependent indices count once per
// loop iteration, at most the whole array; if such an index addresses a single
// element and not a run of neighbours, it counts a sector of 32 bytes ("CUDA
// C++ Best Practices Guide", "Coalesced Access to Global Memory"). This is a
// lower bound of the memory traffic if no data is in the L2 cache at the start.
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

/// Counts the outlined `kernel`, before its code is written. Linear in the
/// number of operations, except for the indices of loads and stores.
KernelWork workOfKernel(mlir::func::FuncOp kernel);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_KERNELWORK_H
