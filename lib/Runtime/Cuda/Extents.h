//===- Extents.h - the memory that library calls touch ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The range of bytes, from the first to the last, of every operand of an
// attention or a convolution, computed from extents and strides; and the bytes
// of the result of a product.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_EXTENTS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_EXTENTS_H

#include "Program.h"

namespace stagewright::runtime::cuda {

struct Extent {
  Address address = 0;
  int64_t bytes = 0;
};

/// The extents of all operands that are present. Throws an `Error` for an
/// invalid description: extents below 1, strides below 0, heads that are not a
/// multiple of key heads, a result that does not fit its image and window.
std::vector<Extent> extentsOf(const Attention &attention);
std::vector<Extent> extentsOf(const Convolution &convolution);

/// Bytes of the result of a product if it is contiguous, else 0.
int64_t bytesOfWhole(const sw_gemm_desc &gemm);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_EXTENTS_H
