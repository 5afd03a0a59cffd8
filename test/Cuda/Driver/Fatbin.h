//===- Fatbin.h - PTX in a fatbinary image ----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_DRIVER_FATBIN_H
#define STAGEWRIGHT_TEST_CUDA_DRIVER_FATBIN_H

#include <string_view>

namespace emulator {

/// The PTX of an image, for the highest architecture if there are several;
/// empty if the image has no uncompressed PTX.
std::string_view ptxOf(const void *image);

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_DRIVER_FATBIN_H
