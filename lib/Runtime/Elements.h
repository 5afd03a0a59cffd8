//===- Elements.h - elements of any float type ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One element of an array at a time, of types that processors do not have:
// rounded to nearest, ties to even.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_ELEMENTS_H
#define STAGEWRIGHT_LIB_RUNTIME_ELEMENTS_H

#include <cstdint>

namespace stagewright::runtime {

/// Element `index` of the array at `from`; an `Error` for types that are no
/// floating-point numbers.
double readElement(const void *from, int32_t dtype, int64_t index);
void writeElement(void *to, int32_t dtype, int64_t index, double value);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_ELEMENTS_H
