//===- Elements.h - reads and writes single floats --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads or writes one element of an array, also of types that CPUs lack: f16
// and bf16, and f8 for reading. Writing rounds to nearest, ties to even; to f16
// and bf16 by way of f32.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_ELEMENTS_H
#define STAGEWRIGHT_LIB_RUNTIME_ELEMENTS_H

#include <cstdint>

namespace stagewright::runtime {

/// Element `index` of the array at `from`; throws an `Error` if the type is not
/// floating-point.
double readElement(const void *from, int32_t dtype, int64_t index);
void writeElement(void *to, int32_t dtype, int64_t index, double value);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_ELEMENTS_H
