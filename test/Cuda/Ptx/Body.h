//===- Body.h - the statements of a kernel ----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_PTX_BODY_H
#define STAGEWRIGHT_TEST_CUDA_PTX_BODY_H

#include "Module.h"

#include <algorithm>

namespace emulator::ptx {

std::string_view trim(std::string_view text);
/// Parts that are not empty; what stands in brackets stays whole.
std::vector<std::string_view> split(std::string_view text, char separator);
/// Of a type: ".b32" has 4.
int64_t bytesOf(std::string_view type);

/// Fills in code, registers and memory of a kernel whose text begins in `line`;
/// `dynamic` is the name of its dynamic shared memory.
void readBody(Kernel &kernel, std::string_view body, int line,
              const std::string &dynamic);

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_BODY_H
