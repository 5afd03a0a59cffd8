//===- ProductLoops.h - the loops of a matrix product -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction may have several loops of each kind: rows (m), columns (n),
// terms (k) and batches. A library call has one of each kind, but two of
// batches. The loops of the call are chosen here, both for writing it and for
// checking beforehand whether a library supports the contraction.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_PRODUCTLOOPS_H
#define STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_PRODUCTLOOPS_H

#include "stagewright/Conversion/BodiesToKernels/ContractionDims.h"
#include "llvm/ADT/STLExtras.h"

namespace stagewright::bodies {

/// One loop of a contraction: its extent, and its stride, in elements, in A, B
/// and C.
struct Loop {
  int64_t extent;
  int64_t stride[3];
};
using Loops = llvm::SmallVector<Loop>;

/// Drops loops of extent 1, sorts the others by stride in operand `key`,
/// largest outermost, and merges neighbours that one loop can replace.
inline Loops merge(Loops loops, int key) {
  llvm::erase_if(loops, [](const Loop &loop) { return loop.extent == 1; });
  llvm::stable_sort(loops, [&](const Loop &a, const Loop &b) {
    return a.stride[key] > b.stride[key];
  });
  Loops merged;
  for (const Loop &inner : loops) {
    bool joins = !merged.empty();
    for (int i = 0; joins && i < 3; ++i)
      joins = merged.back().stride[i] == inner.stride[i] * inner.extent;
    if (!joins) {
      merged.push_back(inner);
      continue;
    }
    merged.back().extent *= inner.extent;
    std::copy(inner.stride, inner.stride + 3, merged.back().stride);
  }
  return merged;
}

/// Removes the loop for the library call from `loops` and returns it: the
/// longest of those with a unit stride in some operand and an extent of at
/// least 8, because the library needs unit strides; else the longest of all,
/// because long loops are most efficient. Returns extent 1 if there is none.
inline Loop takeLongest(Loops &loops) {
  if (loops.empty())
    return {1, {0, 0, 0}};
  auto weight = [](const Loop &loop) {
    bool unit = llvm::is_contained(loop.stride, 1);
    return std::pair(unit && loop.extent >= 8, loop.extent);
  };
  auto longest = std::max_element(
      loops.begin(), loops.end(),
      [&](const Loop &a, const Loop &b) { return weight(a) < weight(b); });
  Loop taken = *longest;
  loops.erase(longest);
  return taken;
}

/// The merged loops of a contraction by kind; those of a call are taken from
/// it.
struct Nest {
  Loops m, n, k, batch;

  /// `loops`: the loops of the contraction, by dimension.
  static Nest get(const ContractionDims &dims, llvm::ArrayRef<Loop> loops) {
    auto of = [&](llvm::ArrayRef<unsigned> list, int key) {
      return merge(
          llvm::map_to_vector(list, [&](unsigned dim) { return loops[dim]; }),
          key);
    };
    return {of(dims.m, 2), of(dims.n, 2), of(dims.k, 0), of(dims.batch, 2)};
  }
};

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_PRODUCTLOOPS_H
