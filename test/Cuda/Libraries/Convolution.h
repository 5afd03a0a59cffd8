//===- Convolution.h - a convolution by its definition ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_LIBRARIES_CONVOLUTION_H
#define STAGEWRIGHT_TEST_CUDA_LIBRARIES_CONVOLUTION_H

#include "stagewright-rt/device.h"

#include <vector>

namespace emulator {

/// Operands are the addresses of x, w and y; `desc` determines which of them is
/// the result.
void compute(const sw_convolve_desc &desc,
             const std::vector<uint64_t> &operands);

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_LIBRARIES_CONVOLUTION_H
