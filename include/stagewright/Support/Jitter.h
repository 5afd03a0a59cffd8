//===- Jitter.h - seeded delays of actions ----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Delays that a simulated and an executed step have in common, because both
// compute them from the seed: for every kind of action and every microbatch one
// rank is drawn, and its action takes longer by an exponentially distributed
// part of its time. So ranks are slow one after another, and none is slower on
// average.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_JITTER_H
#define STAGEWRIGHT_SUPPORT_JITTER_H

#include <cmath>
#include <cstdint>

namespace stagewright {

struct Jitter {
  /// Mean delay, as a multiple of the action's time. 0: no jitter.
  double mean = 0;
  uint64_t seed = 0;

  /// The delay of an action of `kind` and `microbatch` on `rank` of `ranks`, as
  /// a multiple of the action's time; mostly 0.
  double of(char kind, int64_t microbatch, int64_t rank, int64_t ranks) const {
    uint64_t drawn =
        mix(mix(seed ^ mix(uint64_t(kind))) ^ uint64_t(microbatch));
    if (mean <= 0 || int64_t(drawn % uint64_t(ranks)) != rank)
      return 0;
    double uniform = double(mix(drawn) >> 11) * 0x1p-53; // [0, 1)
    return -mean * std::log1p(-uniform);
  }

private:
  /// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
  /// generators", 2014).
  static uint64_t mix(uint64_t bits) {
    bits += 0x9e3779b97f4a7c15;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
  }
};

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_JITTER_H
