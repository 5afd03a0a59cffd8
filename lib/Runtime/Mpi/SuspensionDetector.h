//===- SuspensionDetector.h - whether this process was suspended *- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launcher sends SIGCONT to all processes before it ends them. A process that
// had been suspended (SIGSTOP) then finds that its waits have timed out, but
// only because it did not run itself. So it first gives other processes the
// chance to report the failure (MpiMessenger::sendReport()).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_MPI_SUSPENSIONDETECTOR_H
#define STAGEWRIGHT_LIB_RUNTIME_MPI_SUSPENSIONDETECTOR_H

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace stagewright::runtime {

/// Detects that this process was suspended and continued by SIGCONT.
class SuspensionDetector {
public:
  /// Installs a handler of SIGCONT, unless the process has one already.
  static void watch() {
    struct sigaction before = {}, ours = {};
    sigaction(SIGCONT, nullptr, &before);
    if (before.sa_handler != SIG_DFL)
      return;
    ours.sa_handler = onContinue;
    ours.sa_flags = SA_RESTART;
    sigaction(SIGCONT, &ours, nullptr);
  }

  /// Records that this process runs; must be called often.
  static void heartbeat() {
    lastSeen.store(clock(), std::memory_order_relaxed);
  }

  /// Whether this process received SIGCONT in the last 3 s, more than 0.5 s
  /// after its last heartbeat().
  static bool resumedRecently() {
    constexpr int64_t milliseconds = 3000;
    int64_t at = resumed.load();
    return at != 0 && clock() - at <= milliseconds;
  }

private:
  static int64_t clock() {
    timespec time = {};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time); // signal-safe
    return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
  }
  static void onContinue(int) {
    constexpr int64_t suspended = 500;
    if (clock() - lastSeen.load(std::memory_order_relaxed) > suspended)
      resumed.store(clock());
  }

  static inline std::atomic<int64_t> resumed{0}, lastSeen{0};
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_MPI_SUSPENSIONDETECTOR_H
