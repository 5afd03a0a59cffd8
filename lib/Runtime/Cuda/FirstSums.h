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
// its result overwrites, and the fill goes. 0 + x is x, but for the sign of a
// zero.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_FIRSTSUMS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_FIRSTSUMS_H

#include "Program.h"

namespace stagewright::runtime::cuda {

/// Takes the fills out of a program that the first product can do without; how
/// many there were. Time: the commands' number, times the logarithm of fills.
int64_t overwriteFirstSums(RankProgram &program);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_FIRSTSUMS_H
