//===- Chimera.cpp - two 1F1B pipelines in opposite directions ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Four ranks, eight microbatches, time from left to right; the digit under an
// action is its microbatch, and B takes two columns. Microbatches 0 to 3 enter
// at rank 0, 4 to 7 at rank 3 (actions in small letters):
//
//   rank 0 FF fbbfbb BBF BBFfbbfbb BB  BB
//          01 444555 002 113666777 22  33
//   rank 1  FfFf bbBBbbBBFf Ff bbBBbbBB
//           0415 4400551126 37 66227733
//   rank 2  fFfF BBbbBBbbfF fF BBbbBBbb
//           4051 0044115562 73 22663377
//   rank 3 ff FBBFBB bbf bbfFBBFBB bb  bb
//          45 000111 446 557222333 66  77
//
// If a backward takes as long as a forward, 1F1B of p / 2 microbatches leaves
// every second slot of a rank free, and the other direction uses exactly these:
// F of stage s and microbatch i takes slot s + 2i, its B takes slot
// 2p - 1 - s + 2i, and p is even. A unit of p microbatches takes 2p slots of
// every rank; the next unit follows without a gap ("direct concatenation"). The
// order is that of these slots; the picture shows it with backwards twice as
// long as forwards.
//
//===----------------------------------------------------------------------===//

#include "Builder.h"
#include <algorithm>

namespace stagewright {

Result<Schedule> generateChimera(const ScheduleShape &shape) {
  constexpr const char *kKind = "chimera";
  Result<Schedule> schedule =
      startSchedule(kKind, shape, Placement::Twin, 1, 1);
  if (!schedule)
    return schedule;
  int64_t p = shape.ranks, m = shape.microbatches;
  if (p % 2 != 0 || m % 2 != 0)
    return needs(kKind, "even numbers of ranks and microbatches, got " +
                            std::to_string(p) + " and " + std::to_string(m) +
                            "; take one more");
  for (int64_t rank = 0; rank < p; ++rank) {
    std::vector<std::pair<int64_t, Action>> slots;
    for (int64_t stage : {rank, p - 1 - rank})
      for (int64_t i = 0; i < m / 2; ++i) {
        int64_t microbatch = stage == rank ? i : m / 2 + i;
        int64_t unit = i / (p / 2), start = 2 * p * unit + 2 * (i % (p / 2));
        slots.push_back(
            {start + stage, {ActionKind::Forward, stage, microbatch}});
        if (!shape.forwardOnly)
          slots.push_back({start + 2 * p - 1 - stage,
                           {ActionKind::Backward, stage, microbatch}});
      }
    // No two actions of a rank share a slot.
    std::sort(slots.begin(), slots.end());
    Order order;
    for (const auto &[slot, action] : slots)
      order.push_back(action);
    schedule->ranks.push_back(std::move(order));
  }
  return schedule;
}

} // namespace stagewright
