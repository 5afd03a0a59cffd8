//===- ForwardOnly.cpp - inference with several chunks --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two chunks, the second in small letters:
//
//   rank 0 FFFFffffFFFFffff
//          0123012345674567
//   rank 1  FFFFffffFFFFffff
//           0123012345674567
//   rank 2   FFFFffffFFFFffff
//            0123012345674567
//   rank 3    FFFFffffFFFFffff
//             0123012345674567
//
// A group of p microbatches returns to rank 0 just after its last microbatch
// has left it. The next group follows without a gap.
//
//===----------------------------------------------------------------------===//

#include "Builder.h"
#include "Rounds.h"

namespace stagewright {

Result<Schedule> generateForwardOnly(const ScheduleShape &shape) {
  constexpr const char *kKind = "forward-only";
  Result<Schedule> schedule =
      startSchedule(kKind, shape, Placement::Loop, 1, 0);
  if (!schedule)
    return schedule;
  if (!shape.forwardOnly)
    return needs(kKind, "a program without a backward; take 1f1b or another "
                        "schedule to train");
  int64_t group = shape.group == 0 ? shape.ranks : shape.group;
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    Builder order(schedule->stages, true);
    for (int64_t stage : rounds(shape, rank, group, false))
      order.run(ActionKind::Forward, stage);
    schedule->ranks.push_back(order.take());
  }
  return schedule;
}

} // namespace stagewright
