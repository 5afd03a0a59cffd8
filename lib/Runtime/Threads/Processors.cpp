//===- Processors.cpp - processors and pinning ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Threads/Processors.h"

#include <pthread.h>
#include <sched.h>
#include <thread>

namespace stagewright::runtime {

namespace {

/// The processors that the process could use at the first call, cached: a
/// pinned thread would see only its own processors.
const cpu_set_t *allowed() {
  static const struct Allowed {
    cpu_set_t set;
    bool known;
    Allowed() { known = sched_getaffinity(0, sizeof(set), &set) == 0; }
  } it;
  return it.known ? &it.set : nullptr;
}

} // namespace

int64_t processors() {
  if (const cpu_set_t *set = allowed())
    return CPU_COUNT(set);
  return int64_t(std::thread::hardware_concurrency());
}

void pinThread(int64_t first, int64_t count) {
  const cpu_set_t *set = allowed();
  if (!set)
    return;
  int64_t all = CPU_COUNT(set), number = 0;
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, set)) {
      if ((number - first % all + all) % all < count)
        CPU_SET(cpu, &chosen);
      ++number;
    }
  pthread_setaffinity_np(pthread_self(), sizeof(chosen), &chosen);
}

int spinsFor(int64_t threads) { return threads <= processors() ? 800000 : 20; }

} // namespace stagewright::runtime
