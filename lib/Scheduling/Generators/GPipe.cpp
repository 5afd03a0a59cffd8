//===- GPipe.cpp - all forwards, then all backwards -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   rank 0 FFFFFFFF         BBBBBBBBBBBBBBBB
//          01234567         0011223344556677
//   rank 1  FFFFFFFF      BBBBBBBBBBBBBBBB
//           01234567      0011223344556677
//   rank 2   FFFFFFFF   BBBBBBBBBBBBBBBB
//            01234567   0011223344556677
//   rank 3    FFFFFFFFBBBBBBBBBBBBBBBB
//             012345670011223344556677
//
// Backwards run in increasing order too, unlike LoopedBFS in PyTorch: gradients
// are then summed in the same order as in 1F1B, and are equal bit for bit.
//
//===----------------------------------------------------------------------===//

#include "Builder.h"

namespace stagewright {

Result<Schedule> generateGPipe(const ScheduleShape &shape) {
  Result<Schedule> schedule =
      startSchedule("gpipe", shape, Placement::Linear, 1, 1);
  if (!schedule)
    return schedule;
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    Builder order(shape.ranks, shape.forwardOnly);
    for (ActionKind kind : {ActionKind::Forward, ActionKind::Backward})
      for (int64_t m = 0; m < shape.microbatches; ++m)
        order.run(kind, rank);
    schedule->ranks.push_back(order.take());
  }
  return schedule;
}

} // namespace stagewright
