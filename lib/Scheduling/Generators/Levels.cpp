//===- Levels.cpp - groups of microbatches, level by level ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two levels of two shards, the second level in lower case, drawn as if the
// ranks of a level did not wait for one another:
//
//   rank 0 FFffbbbbBBBBFFffbbbbBBBB
//          010100110011232322332233
//   rank 1 FFffbbbbBBBBFFffbbbbBBBB
//          010100110011232322332233
//
//===----------------------------------------------------------------------===//

#include "Builder.h"
#include <algorithm>

namespace stagewright {

Result<Schedule> generateLevels(const ScheduleShape &shape) {
  constexpr int64_t kGroup = 2; // One is computed while the other is sent.
  Result<Schedule> schedule =
      startSchedule("levels", shape, Placement::Loop, 1, 0);
  if (!schedule)
    return schedule;
  int64_t group = shape.group == 0 ? kGroup : shape.group;
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    Order order;
    for (int64_t first = 0; first < shape.microbatches; first += group) {
      int64_t end = std::min(first + group, shape.microbatches);
      for (int64_t stage = rank; stage < schedule->stages; stage += shape.ranks)
        for (int64_t m = first; m < end; ++m)
          order.push_back({ActionKind::Forward, stage, m});
      if (shape.forwardOnly)
        continue;
      for (int64_t stage = schedule->stages - shape.ranks + rank; stage >= 0;
           stage -= shape.ranks)
        for (int64_t m = first; m < end; ++m)
          order.push_back({ActionKind::Backward, stage, m});
    }
    schedule->ranks.push_back(std::move(order));
  }
  return schedule;
}

} // namespace stagewright
