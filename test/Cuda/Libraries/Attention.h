//===- Attention.h - attention by its definition ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_LIBRARIES_ATTENTION_H
#define STAGEWRIGHT_TEST_CUDA_LIBRARIES_ATTENTION_H

#include "stagewright-rt/device.h"

#include <vector>

namespace emulator {

/// Addresses of q, k, v, o, stats (0: not computed), d_o, d_q, d_k, d_v.
using Addresses = std::vector<uint64_t>;

void compute(const sw_attention_desc &desc, const Addresses &operands);
void computeGradient(const sw_attention_desc &desc, const Addresses &operands);

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_LIBRARIES_ATTENTION_H
