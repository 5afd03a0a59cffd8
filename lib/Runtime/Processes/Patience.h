//===- Patience.h - how one waits for a message -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nobody rings for a process that waits: it must look. It looks without a pause
// at first; then it naps between looks, so that whoever shares its processor
// gets on, and notices when it has waited too long.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PATIENCE_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PATIENCE_H

#include "Recording/Recorder.h"

#include <ctime>

namespace stagewright::runtime {

class Patience {
public:
  /// `spins` looks without a nap; over after `seconds`, 0: never.
  Patience(int spins, double seconds) : spins(spins), seconds(seconds) {}

  /// One look of 32: the one at which other things are looked after, too.
  bool isThorough() const { return looks % 32 == 31; }

  bool isOver() {
    if (seconds <= 0 || looks < 1000)
      return false;
    if (start == 0)
      start = now();
    return double(now() - start) * 1e-9 > seconds;
  }

  void pause() {
    if (looks++ < spins)
      return;
    timespec nap = {0, 50000};
    nanosleep(&nap, nullptr);
  }

private:
  int spins;
  double seconds;
  int64_t looks = 0, start = 0;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PATIENCE_H
