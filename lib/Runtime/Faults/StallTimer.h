//===- StallTimer.h - time without progress ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums the time during which something observed did not change. Of the time
// between two observations at most `maxInterval` counts: if it was longer, the
// observer itself was stopped, by a debugger, a terminal or a busy machine, so
// it does not know whether the others were.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_FAULTS_STALLTIMER_H
#define STAGEWRIGHT_LIB_RUNTIME_FAULTS_STALLTIMER_H

#include <algorithm>
#include <cstdint>

namespace stagewright::runtime {

class StallTimer {
public:
  /// Max time that counts between two observations, nanoseconds.
  static constexpr int64_t maxInterval = 250'000'000;

  /// At `time`, nanoseconds, nothing has changed since the last observation.
  void tick(int64_t time) {
    if (last)
      still += std::min(time - last, maxInterval);
    last = time;
  }
  /// Something has changed at `time`, nanoseconds.
  void reset(int64_t time) { last = time, still = 0; }
  double seconds() const { return double(still) * 1e-9; }

private:
  int64_t last = 0, still = 0;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_FAULTS_STALLTIMER_H
