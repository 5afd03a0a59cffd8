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
// C++ Best Practices Guide", "Coalesced Access to Global Memory"). The bytes
// are a lower bound of the memory traffic if no data is in the L2 cache at the
// start and no two data-dependent accesses are to the same sector.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_KERNELWORK_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_KERNELWORK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace stagewright::device {

struct KernelWork {
  int64_t read = 0, written = 0; ///< bytes
  double flops = 0; ///< scalar operations, counted as by CountFlops.h
};

/// Counts the work of the outlined `kernel`, before it is lowered to loops.
/// Takes time linear, for each read, in the number of views written so far, and
/// for each load and store in the number of operations that compute its
/// indices.
KernelWork workOfKernel(mlir::func::FuncOp kernel);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_KERNELWORK_H
