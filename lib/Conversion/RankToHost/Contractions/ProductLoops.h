//===- ProductLoops.h - the loops of a product ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction has any number of rows, columns, terms and batches; a call of a
// library has one loop of each, and two of batches. Which those are is chosen
// here, for the call and for whoever must know before whether a library takes
// it.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_CONTRACTIONS_PRODUCTLOOPS_H
#define STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_CONTRACTIONS_PRODUCTLOOPS_H

#include "ContractionDims.h"
#include "llvm/ADT/STLExtras.h"

namespace stagewright::host {

/// One loop of a contraction: its extent and the distance, in elements, of its
/// next step in A, B and C.
struct Loop {
  int64_t extent;
  int64_t stride[3];
};
using Loops = llvm::SmallVector<Loop>;

/// Merges loops that walk memory as one, longest stride outermost.
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

/// Takes the longest loop out of `loops`; the library is most efficient on it.
/// An absent loop has extent 1. A loop with unit stride in an operand of which
/// the other loop has none must be the one the library sees.
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

/// What a product walks; a call takes its loops out of it.
struct Nest {
  Loops m, n, k, batch;

  /// Of the loops of a contraction, by dimension.
  static Nest get(const ContractionDims &dims, llvm::ArrayRef<Loop> loops) {
    auto of = [&](llvm::ArrayRef<unsigned> list, int key) {
      return merge(
          llvm::map_to_vector(list, [&](unsigned dim) { return loops[dim]; }),
          key);
    };
    return {of(dims.m, 2), of(dims.n, 2), of(dims.k, 0), of(dims.batch, 2)};
  }
};

} // namespace stagewright::host

#endif // STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_CONTRACTIONS_PRODUCTLOOPS_H
