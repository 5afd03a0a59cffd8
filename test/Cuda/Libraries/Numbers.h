//===- Numbers.h - elements of a device's arrays ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_LIBRARIES_NUMBERS_H
#define STAGEWRIGHT_TEST_CUDA_LIBRARIES_NUMBERS_H

#include "Floats.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

namespace emulator {

/// Element types of the libraries, each of which numbers them differently.
enum class Element { F32, F64, F16, BF16, E4M3, E5M2 };

/// The element type that a library calls `type`; `types` are its numbers in the
/// order of `Element`. None if it is not among them.
std::optional<Element> elementIn(std::initializer_list<int> types, int type);
/// The element type of an `sw_dtype`.
Element elementOfRuntime(int32_t dtype);

int64_t sizeOf(Element element);
double read(const std::byte *array, Element element, int64_t index);
void write(std::byte *array, Element element, int64_t index, double value);

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_LIBRARIES_NUMBERS_H
