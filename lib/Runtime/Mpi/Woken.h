//===- Woken.h - whether this process was stopped ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launcher that ends a process wakes it before (SIGCONT). What such a process
// then finds, it finds too late: its waits have run out because it was stopped.
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

  /// Within the last seconds.
  static bool lately() {
    constexpr int64_t seconds = 3;
    int64_t at = when.load();
    return at != 0 && clock() - at <= seconds;
  }

private:
  static int64_t clock() {
    timespec time = {};
    clock_gettime(CLOCK_MONOTONIC, &time); // which a handler may call
    return time.tv_sec;
  }
  static void notice(int) { when.store(clock()); }

  static inline std::atomic<int64_t> when{0};
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_MPI_WOKEN_H
