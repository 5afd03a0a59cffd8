//===- Means.h - folds divisions of means into sums -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The mean of a gradient over microbatches is their sum, which a kernel divides
// by their number at the end of the step. That kernel is removed where other
// kernels or products can divide instead:
//  - The kernel that stores the whole sum last divides what it stores. The mean
//    is the same bit for bit.
//  - If only products and kernels that add to some elements have made the sum,
//    each divides what it adds: products multiply by the reciprocal (alpha).
//    The mean differs only by rounding. For a power of two it is equal bit for
//    bit, except for subnormal numbers.
//  - If ranks sum their gradients before the division, each divides its own
//    part in one of these ways, provided that all of them can.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_MEANS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_MEANS_H

#include "Artifact/Manifest.h"
#include "Program.h"

namespace stagewright::runtime::cuda {

/// Removes from the programs of all ranks the divisions that other kernels or
/// products can do; returns their number. Runs after overwriteFirstSums(). O(C
/// log S) for C commands and S sums; the divisions after sums over ranks are
/// checked again each time that some are kept because not all ranks can divide.
int64_t foldMeans(std::vector<RankProgram> &programs, const Manifest &manifest,
                  const Memory &memory);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_MEANS_H
