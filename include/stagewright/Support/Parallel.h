//===- Parallel.h - independent calls on all processors ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_PARALLEL_H
#define STAGEWRIGHT_SUPPORT_PARALLEL_H

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <thread>
#include <vector>

namespace stagewright {

/// Threads that run at a time, at least 1.
inline size_t numThreads() {
  return std::max(1u, std::thread::hardware_concurrency());
}

/// Calls function(0) to function(count - 1), in any order and on numThreads()
/// threads. Returns after all calls. None may write what another one uses.
template <typename Function>
void forEachInParallel(size_t count, Function function) {
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < count; i = next++)
      function(i);
  };
  std::vector<std::future<void>> others;
  while (others.size() + 1 < std::min(count, numThreads()))
    others.push_back(std::async(std::launch::async, work));
  work();
  for (std::future<void> &other : others)
    other.get();
}

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_PARALLEL_H
