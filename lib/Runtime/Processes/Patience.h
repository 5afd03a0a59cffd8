//===- Patience.h - how one waits for a message -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nobody rings for a process that waits: it must look. It looks without a pause
// at first, but lets others have the processor now and then: there may be fewer
// than it knows, as in a container or where ranks of two hosts are on one. Then
// it naps between looks, and notices when it has waited too long.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PATIENCE_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PATIENCE_H

#include "Faults/Stillness.h"
#include "Recording/Recorder.h"

#include <algorithm>
#include <ctime>
#include <sched.h>

namespace stagewright::runtime {

/// Seconds that others have to come after one has failed. All that live come
/// in thousandths; where one hangs, all wait for so long.
constexpr double grace = 0.3;

class Patience {
public:
  /// `spins` looks without a nap; over after `seconds`, 0: never.
  Patience(int spins, double seconds) : spins(spins), seconds(seconds) {}

  /// One look of 32: the one at which other things are looked after, too.
  bool isThorough() const { return looks % 32 == 31; }

  bool isOver() {
    if (seconds <= 0 || !isLong())
      return false;
    still.look(now());
    return still.seconds() > seconds;
  }
  /// Whether it has looked so often that costlier looks do no harm: where it
  /// naps, soon, for on a busy machine a nap is long.
  bool isLong() const { return looks >= std::min<int64_t>(1000, spins + 64); }
  bool isEndless() const { return seconds <= 0; }
  /// From now on it is over after `left` seconds.
  void restart(double left) { seconds = left, still = {}; }

  void pause() {
    if (looks++ < spins) {
      if (looks % 8 == 0)
        sched_yield();
      return;
    }
    timespec nap = {0, 50000};
    nanosleep(&nap, nullptr);
  }

private:
  int spins;
  double seconds;
  int64_t looks = 0;
  Stillness still;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PATIENCE_H
