//===- Sum.h - elementwise sums over ranks ----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elementwise sums of arrays, added in the order of the arrays. float16 and
// bfloat16 are added in float32, and rounded once per call.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_SUM_H
#define STAGEWRIGHT_LIB_RUNTIME_SUM_H

#include "stagewright-rt/runtime.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace stagewright::runtime {

/// Replaces elements [begin, end) of each of `arrays` by their sums over all of
/// `arrays`.
void sumToAll(sw_dtype dtype, std::span<std::byte *const> arrays, int64_t begin,
              int64_t end);

/// Adds `count` elements at `from` to those at `to`.
void sumInto(sw_dtype dtype, void *to, const void *from, int64_t count);

/// One array of a weighted sum.
struct Term {
  double weight = 1; ///< Rounded to the type in which elements are added.
  const void *from = nullptr;
};

/// Replaces `count` elements at `to`, which may be one of `terms`, by the
/// weighted sum of the terms in their order.
void weightedSum(sw_dtype dtype, void *to, std::span<const Term> terms,
                 int64_t count);

/// Whether elements of `dtype` can be summed.
bool canSum(sw_dtype dtype);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_SUM_H
