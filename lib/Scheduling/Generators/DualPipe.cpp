//===- DualPipe.cpp - two pipelines in opposite directions ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Four ranks, eight microbatches, time from left to right; the digit under an
// action is its microbatch. Microbatches 0 to 3 enter at rank 0, 4 to 7 at rank
// 3 (actions in small letters). Each stage is on two ranks, and half of the
// microbatches pass each of them; each rank has two stages. F, I and W take one
// column, B two:
//
//   rank 0 FFFfiwfFbbfBBbbf BBbbIWIW
//          0124445355600667 11772233
//   rank 1  FfFfFbbfBBFbbfBBbbBBiIwW
//           041524460035571166227373
//   rank 2  fFfFfBBFbbfBBFbbBBbbIiWw
//           405160024471135522663737
//   rank 3 fffFIWFfBBFbbBBF bbBBiwiw
//          4560001711244223 55336677
//
// After the warm-up, a forward and the backward that follows it form a pair
// (except the first on ranks 1 and 2): they may run at the same time, one
// communicating while the other computes.
//
//===----------------------------------------------------------------------===//

#include "Builder.h"
#include "DualPipeSteps.h"
#include <algorithm>

namespace stagewright {

Result<Schedule> generateDualPipe(const ScheduleShape &shape) {
  constexpr const char *kKind = "dualpipe";
  Result<Schedule> schedule =
      startSchedule(kKind, shape, Placement::Twin, 1, 1);
  if (!schedule)
    return schedule;
  int64_t p = shape.ranks, m = shape.microbatches;
  if (p % 2 != 0)
    return needs(kKind, "an even number of ranks, got " + std::to_string(p) +
                            "; use one rank more or fewer, or dualpipe-v");
  if (m % 2 != 0 || m < 2 * p)
    return needs(kKind, "an even number of microbatches, at least " +
                            std::to_string(2 * p) + " on " + std::to_string(p) +
                            " ranks, got " + std::to_string(m) + "; take " +
                            std::to_string(std::max(2 * p, m + m % 2)));
  for (int64_t rank = 0; rank < p; ++rank) {
    Builder order(p, shape.forwardOnly);
    bool firstHalf = rank < p / 2;
    // This rank's stages for microbatches that enter at rank 0, and at the last
    // rank.
    int64_t down = rank, up = p - 1 - rank;
    order.startAt(up, m / 2);
    runDualPipeSteps(order, {firstHalf ? down : up, firstHalf ? up : down,
                             std::min(rank, p - 1 - rank), p / 2, m / 2});
    schedule->ranks.push_back(order.take());
  }
  return schedule;
}

} // namespace stagewright
