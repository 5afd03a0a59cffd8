//===- Fatbin.h - PTX in a fatbinary image ----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_DRIVER_FATBIN_H
#define STAGEWRIGHT_TEST_CUDA_DRIVER_FATBIN_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace emulator {

/// The PTX of an image that a device of this architecture (90: sm_90) runs, for
/// the highest one if there are several. Empty if it runs only the image's
/// machine code; none if it runs nothing of the image. Throws `ptx::Unknown` if
/// the image has another format.
std::optional<std::string_view> ptxOf(const void *image, uint32_t architecture);

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_DRIVER_FATBIN_H
