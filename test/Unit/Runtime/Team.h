//===- Team.h - a rank with threads, outside a step -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_UNIT_RUNTIME_TEAM_H
#define STAGEWRIGHT_TEST_UNIT_RUNTIME_TEAM_H

#include "Faults/Guarded.h"
#include "Threads/ThreadTransport.h"

#include <memory>
#include <random>
#include <vector>

namespace stagewright::runtime {

struct Team {
  explicit Team(int64_t threads) {
    manifest.ranks.resize(1);
    transport = std::make_unique<ThreadTransport>(
        manifest, layouts, std::vector<std::byte *>{}, 1,
        /*poison=*/false, /*spins=*/20);
    rank.transport = transport.get();
    if (threads > 1) {
      pool = std::make_unique<Pool>(threads, /*maySpin=*/false);
      rank.pool = pool.get();
    }
  }

  Manifest manifest;
  std::vector<Layout> layouts;
  std::unique_ptr<ThreadTransport> transport;
  std::unique_ptr<Pool> pool;
  sw_rank rank;
};

/// Random numbers from -1 to 1, equal for equal seeds.
template <typename T> std::vector<T> randomNumbers(int64_t size, int seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<T> numbers(size);
  for (T &number : numbers)
    number = T(value(random));
  return numbers;
}

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_TEST_UNIT_RUNTIME_TEAM_H
