//===- Means.h - folds divisions of means into products ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The mean of a gradient over microbatches is their sum, which a kernel divides
// by their number at the end of the step. If only products have been added to
// that sum, the library multiplies each by the reciprocal (alpha) instead, and
// the kernel is removed. The mean differs only by rounding. For a power of two
// it is equal bit for bit, except for subnormal numbers.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_MEANS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_MEANS_H

#include "Artifact/Manifest.h"
#include "Program.h"

namespace stagewright::runtime::cuda {

/// Removes the divisions that products can do; returns their number. Runs after
/// overwriteFirstSums(). O(C log S) for C commands and S sums.
int64_t scaleProductsOfMeans(RankProgram &program,
                             const std::vector<Kernel> &kernels);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_MEANS_H
