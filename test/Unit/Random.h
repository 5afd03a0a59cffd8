//===- Random.h - random numbers for property tests -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_UNIT_RANDOM_H
#define STAGEWRIGHT_TEST_UNIT_RANDOM_H

#include "Builds.h"
#include <cstdint>
#include <random>

namespace stagewright::testing {

/// Gives the same numbers on every machine, unlike distributions of <random>.
class Draw {
public:
  explicit Draw(uint64_t seed) : engine(seed) {}
  double real(double low, double high) {
    return low + (high - low) * double(engine() >> 11) * 0x1p-53;
  }
  int64_t whole(int64_t low, int64_t high) {
    return low + int64_t(engine() % uint64_t(high - low + 1));
  }
  bool chance(double part) { return real(0, 1) < part; }

private:
  std::mt19937_64 engine;
};

} // namespace stagewright::testing

#endif // STAGEWRIGHT_TEST_UNIT_RANDOM_H
