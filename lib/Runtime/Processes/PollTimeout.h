//===- PollTimeout.h - polling with a timeout -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A process that waits for a message is not notified and has to poll. It first
// polls without sleeping, but yields the processor now and then: there may be
// fewer processors than it assumes, such as in a container, or if the ranks of
// two hosts run on one machine. Then it sleeps between polls. The timeout is
// checked after at most 1000 polls.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_POLLTIMEOUT_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_POLLTIMEOUT_H

#include "Faults/StallTimer.h"
#include "Recording/Recorder.h"

#include <algorithm>
#include <ctime>
#include <sched.h>

namespace stagewright::runtime {

/// Seconds to wait for the other processes after one has failed. Live
/// processes answer in milliseconds; all wait this long only if one hangs.
constexpr double grace = 0.3;

class PollTimeout {
public:
  /// Polls `spins` times without sleeping. Times out after `seconds`; 0: never.
  PollTimeout(int spins, double seconds) : spins(spins), seconds(seconds) {}

  /// True in one of 32 polls, in which callers also check for failures.
  bool isCheckDue() const { return polls % 32 == 31; }

  bool hasExpired() {
    if (seconds <= 0 || !isLongWait())
      return false;
    stall.tick(now());
    return stall.seconds() > seconds;
  }
  /// Whether it has polled so often that expensive checks do no harm. If it
  /// sleeps, this is after few polls, because sleeps are long on a busy
  /// machine.
  bool isLongWait() const {
    return polls >= std::min<int64_t>(1000, spins + 64);
  }
  bool isInfinite() const { return seconds <= 0; }
  /// Restarts the timeout with `left` seconds.
  void restart(double left) { seconds = left, stall = {}; }

  void pause() {
    if (polls++ < spins) {
      if (polls % 8 == 0)
        sched_yield();
      return;
    }
    timespec nap = {0, 50000};
    nanosleep(&nap, nullptr);
  }

private:
  int spins;
  double seconds;
  int64_t polls = 0;
  StallTimer stall;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_POLLTIMEOUT_H
