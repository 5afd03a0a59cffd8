//===- Means.h - means of products made by the products ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gradient that is a mean over microbatches is their sum, which a kernel
// divides at the end of the step. Where products alone have made that sum, they
// are multiplied by one part of the number of microbatches as the library
// stores them, and the kernel goes. Rounding aside the mean is the same; for a
// power of two to the last bit, but for numbers below the smallest normal one.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_MEANS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_MEANS_H

#include "Artifact/Manifest.h"
#include "Program.h"

namespace stagewright::runtime::cuda {

/// Takes divisions that products can do out of a program, behind
/// overwriteFirstSums(); how many there were. Time: the commands' number, times
/// the logarithm of what products make.
int64_t scaleProductsOfMeans(RankProgram &program,
                             const std::vector<Kernel> &kernels);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_MEANS_H
