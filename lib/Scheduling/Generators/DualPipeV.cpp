//===- DualPipeV.cpp - DualPipe on half of the ranks ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two chunks in the form of a V, the second in lower case:
//
//   rank 0 FFFFFFFfiwfiwfiwfFbbfBBbbf BBbbf BBbbf BBbbIWIWIWIW
//          01234560001112223733400445 11556 22667 337744556677
//   rank 1  FFFFFfFfiwfiwfFbbfBBFbbfBBbbf BBbbf BBbbBBiIwIWIWW
//           01234051002113622400733511446 22557 33664475765767
//   rank 2   FFFfFfFfiwfFbbfBBFbbfBBFbbfBBbbf BBbbBBbbIiIWIwWW
//            01203142003511400622511733622447 3355446657657767
//   rank 3    FfFfFfFfFbbfBBFbbfBBFbbfBBFbbfBBbbBBbbBBiIiIwWwW
//             001122334004005115116226227337334444555566776677
//
// In DualPipe, the second half of the ranks mirrors the first. If one V-shaped
// pipeline replaces the two directions, half of the ranks are enough, and no
// weights are on two ranks.
//
//===----------------------------------------------------------------------===//

#include "Builder.h"
#include "DualPipeSteps.h"

namespace stagewright {

Result<Schedule> generateDualPipeV(const ScheduleShape &shape) {
  constexpr const char *kKind = "dualpipe-v";
  Result<Schedule> schedule = startSchedule(kKind, shape, Placement::V, 2, 2);
  if (!schedule)
    return schedule;
  int64_t p = shape.ranks;
  if (shape.microbatches < 2 * p)
    return needs(kKind, "at least " + std::to_string(2 * p) +
                            " microbatches on " + std::to_string(p) +
                            " ranks, got " +
                            std::to_string(shape.microbatches) +
                            "; take more, fewer ranks, or v-half");
  for (int64_t rank = 0; rank < p; ++rank) {
    Builder order(schedule->stages, shape.forwardOnly);
    runDualPipeSteps(order,
                     {rank, 2 * p - 1 - rank, rank, p, shape.microbatches});
    schedule->ranks.push_back(order.take());
  }
  return schedule;
}

} // namespace stagewright
