//===- Random.h - reproducible pseudo-random numbers ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): small, and with equal
// results on every machine, unlike the distributions of the standard library.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_RANDOM_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_RANDOM_H

#include <cstdint>

namespace stagewright::search {

struct Random {
  uint64_t state;

  uint64_t next() {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// From 0 to `end` - 1.
  int32_t below(int32_t end) {
    return int32_t(((next() >> 32) * uint64_t(end)) >> 32);
  }
};

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_RANDOM_H
