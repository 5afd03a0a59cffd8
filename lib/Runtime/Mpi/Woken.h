//===- Woken.h - whether this process was stopped ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launcher that ends processes sends all of them SIGCONT before. One that had
// been stopped then finds everything too late: its waits have run out because
// it stood still itself.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_MPI_WOKEN_H
#define STAGEWRIGHT_LIB_RUNTIME_MPI_WOKEN_H

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace stagewright::runtime {

class Woken {
public:
  /// From now on SIGCONT is noticed; a handler that another part has stays.
  static void watch() {
    struct sigaction before = {}, ours = {};
    sigaction(SIGCONT, nullptr, &before);
    if (before.sa_handler != SIG_DFL)
      return;
    ours.sa_handler = notice;
    ours.sa_flags = SA_RESTART;
    sigaction(SIGCONT, &ours, nullptr);
  }

  /// Called again and again: this process runs.
  static void runs() { seen.store(clock(), std::memory_order_relaxed); }

  /// Within the last seconds, after it had stood still.
  static bool lately() {
    constexpr int64_t milliseconds = 3000;
    int64_t at = when.load();
    return at != 0 && clock() - at <= milliseconds;
  }

private:
  static int64_t clock() {
    timespec time = {};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time); // which a handler may call
    return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
  }
  static void notice(int) {
    constexpr int64_t still = 500;
    if (clock() - seen.load(std::memory_order_relaxed) > still)
      when.store(clock());
  }

  static inline std::atomic<int64_t> when{0}, seen{0};
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_MPI_WOKEN_H
