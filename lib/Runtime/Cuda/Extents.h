//===- Extents.h - the memory that library calls touch ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the first to the last byte of every operand of an attention or a
// convolution, as its extents and strides say.
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

/// Of every operand that is there. Throws an `Error` where a description cannot
/// be: extents below 1, strides below 0, heads that are no multiple of key
/// heads, a result of another extent than its image and window give.
std::vector<Extent> extentsOf(const Attention &attention);
std::vector<Extent> extentsOf(const Convolution &convolution);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_EXTENTS_H
