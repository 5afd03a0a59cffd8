//===- Extents.h - the memory that library calls touch ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the first to the last byte of every operand of an attention or a
// convolution, as its extents and strides say; and of what commands touch.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_EXTENTS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_EXTENTS_H

#include "Artifact/Manifest.h"
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

/// What `command` of `program` reads or writes, unless it may touch any memory;
/// of operands whose length nobody says the first byte. Slots that are given
/// back, sent or released were claimed or acquired before.
std::vector<Extent> usesOf(const RankProgram &program,
                           const std::vector<Kernel> &kernels,
                           const Command &command);

/// Bytes of the result of a product, if that is one block without holes; or 0.
int64_t bytesOfWhole(const sw_gemm_desc &gemm);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_EXTENTS_H
