//===- FirstSums.h - removes zero fills before sums -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gradient is filled with zeros, and every microbatch adds to it. Which one
// is the first depends on the schedule, so a rank's recorded program is
// searched. If a product is the first to use the filled range, and its result
// covers all of it, the product overwrites instead of adding. If the first is a
// kernel that adds to all of the range, it starts from zero. Then the fill is
// removed. 0 + x is x, except for the sign of a zero.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_FIRSTSUMS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_FIRSTSUMS_H

#include "Artifact/Manifest.h"
#include "Program.h"

namespace stagewright::runtime::cuda {

/// Removes the fills that the first product or kernel after them makes
/// unnecessary. Returns their number. O(C log F) for C commands and F fills.
int64_t overwriteFirstSums(RankProgram &program,
                           const std::vector<Kernel> &kernels);

/// Bytes that a launch of `kernel` does not read if it starts the sums in the
/// bit set `zeros` from zero.
int64_t unreadBytes(const Kernel &kernel, uint64_t zeros);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_FIRSTSUMS_H
