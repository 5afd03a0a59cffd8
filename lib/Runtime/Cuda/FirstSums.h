//===- FirstSums.h - sums that need no zero to begin with -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gradient is filled with zeros, and every microbatch adds to it. Which one
// is the first depends on the schedule, so it is looked for in what a rank has
// recorded: a product that comes first and has the whole of what was filled as
// its result overwrites, a kernel that adds to all of it is told to begin with
// zeros, and the fill goes. 0 + x is x, but for the sign of a zero.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_FIRSTSUMS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_FIRSTSUMS_H

#include "Artifact/Manifest.h"
#include "Program.h"

namespace stagewright::runtime::cuda {

/// Takes the fills out of a program that the first product or kernel can do
/// without; how many there were. Time: the commands' number, times the
/// logarithm of fills.
int64_t overwriteFirstSums(RankProgram &program,
                           const std::vector<Kernel> &kernels);

/// Bytes that a launch of `kernel` with these sums beginning with zeros does
/// not read.
int64_t unreadBytes(const Kernel &kernel, uint64_t zeros);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_FIRSTSUMS_H
