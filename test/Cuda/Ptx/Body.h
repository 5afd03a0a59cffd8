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
/// The nonempty parts of `text`; does not split inside brackets.
std::vector<std::string_view> split(std::string_view text, char separator);
/// The size of a PTX type: 4 for ".b32".
int64_t bytesOf(std::string_view type);

/// Parses the body of a kernel, which begins in `line`, into code, registers
/// and memory; `dynamic` is the name of its dynamic shared memory.
void readBody(Kernel &kernel, std::string_view body, int line,
              const std::string &dynamic);

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_BODY_H
