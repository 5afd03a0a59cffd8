//===- Stillness.h - noticing what does not get on --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adds up the time between looks at something that did not change. A long time
// between two looks counts as a short one: then whoever looks was stopped
// himself, by a debugger, a terminal or a busy machine, and knows nothing of
// the others.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_FAULTS_STILLNESS_H
#define STAGEWRIGHT_LIB_RUNTIME_FAULTS_STILLNESS_H

#include <algorithm>
#include <cstdint>

namespace stagewright::runtime {

class Stillness {
public:
  /// The most that passes between two looks, in nanoseconds.
  static constexpr int64_t most = 250'000'000;

  /// At `time`, in nanoseconds, nothing had changed since the last look.
  void look(int64_t time) {
    if (last)
      still += std::min(time - last, most);
    last = time;
  }
  /// Something has changed.
  void moved(int64_t time) { last = time, still = 0; }
  double seconds() const { return double(still) * 1e-9; }

private:
  int64_t last = 0, still = 0;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_FAULTS_STILLNESS_H
