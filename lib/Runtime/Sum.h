//===- Sum.h - adding what ranks have -----------------------------*- C++
//-*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of sums over ranks: elements of several arrays, added in the
// order of the arrays. Elements of 16 bits are added in float32 and rounded
// once.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_SUM_H
#define STAGEWRIGHT_LIB_RUNTIME_SUM_H

#include "stagewright-rt/runtime.h"

#include <cstddef>
#include <span>

namespace stagewright::runtime {

/// Stores the sums of elements `begin` to before `end` of all `arrays` in each
/// of them.
void sumToAll(sw_dtype dtype, std::span<std::byte *const> arrays, int64_t begin,
              int64_t end);

/// Adds `count` elements at `from` to those at `to`.
void sumInto(sw_dtype dtype, void *to, const void *from, int64_t count);

/// Whether sums of `dtype` have a meaning.
bool canSum(sw_dtype dtype);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_SUM_H
