//===- OneFOneB.cpp - one forward, one backward ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two stages, four microbatches (a backward takes two slots):
//
//   rank 0 |F0|F1|     |B0   |F2|B1   |F3|B2   |  |B3   |
//   rank 1    |F0|B0   |F1|B1   |F2|B2   |F3|B3   |
//
// Rank r warms up with p - r forwards, as many as microbatches are on the way
// to the last stage and back when its first gradient comes.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Generators.h"
#include <algorithm>

namespace stagewright {

Schedule generateOneFOneB(const ScheduleShape &shape) {
  Schedule schedule{"1f1b", shape.stages, shape.microbatches, {}};
  for (int64_t rank = 0; rank < shape.stages; ++rank) {
    int64_t warmUp = std::min(shape.stages - rank, shape.microbatches);
    if (shape.forwardOnly)
      warmUp = shape.microbatches;
    Order order;
    for (int64_t m = 0; m < warmUp; ++m)
      order.push_back({ActionKind::Forward, rank, m});
    for (int64_t m = 0; m < shape.microbatches && !shape.forwardOnly; ++m) {
      order.push_back({ActionKind::Backward, rank, m});
      if (m + warmUp < shape.microbatches)
        order.push_back({ActionKind::Forward, rank, m + warmUp});
    }
    schedule.ranks.push_back(std::move(order));
  }
  return schedule;
}

} // namespace stagewright
