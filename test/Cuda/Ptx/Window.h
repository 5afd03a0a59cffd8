//===- Window.h - windows of generic addresses ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_PTX_WINDOW_H
#define STAGEWRIGHT_TEST_CUDA_PTX_WINDOW_H

#include <cstdint>

namespace emulator::ptx {

/// Bits set in generic addresses of shared and of local memory. Addresses of
/// device memory are lower.
constexpr int64_t sharedWindow = int64_t(1) << 60;
constexpr int64_t localWindow = int64_t(1) << 61;

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_WINDOW_H
