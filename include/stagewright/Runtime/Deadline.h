//===- Deadline.h - how long a step may take --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ten times the median of the last 64 steps, at least two seconds: a step that
// takes longer is assumed to hang. The median, unlike the mean, does not grow
// with a few slow steps. The limit is a minute for the first step, for
// construction and for work after the last step, which load kernels, connect
// processes and write files.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RUNTIME_DEADLINE_H
#define STAGEWRIGHT_RUNTIME_DEADLINE_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

namespace stagewright::runtime {

class Deadline {
public:
  /// Seconds, and the factor of the median.
  static constexpr double first = 60, minimum = 2, factor = 10;
  /// Seconds that processes wait before the first step for one that still loads
  /// its arguments: enough for 100 GB from a disk of 0.2 GB/s.
  static constexpr double loading = 600;

  /// `given`: the user's limit for every step, in seconds; 0: as above.
  explicit Deadline(double given) : given(given) {}

  /// Seconds that the next step may take.
  double seconds() const {
    if (given > 0)
      return given;
    if (count == 0)
      return first;
    std::array<double, 64> sorted = last;
    size_t known = std::min(count, last.size());
    auto middle = sorted.begin() + std::ptrdiff_t(known / 2);
    std::nth_element(sorted.begin(), middle,
                     sorted.begin() + std::ptrdiff_t(known));
    return std::max(minimum, factor * *middle);
  }
  void measured(double seconds) { last[count++ % last.size()] = seconds; }

private:
  double given;
  std::array<double, 64> last = {};
  size_t count = 0;
};

/// "2 s", "12.5 s".
inline std::string printSeconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g s", seconds);
  return text;
}

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_RUNTIME_DEADLINE_H
