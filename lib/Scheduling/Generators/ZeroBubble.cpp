//===- ZeroBubble.cpp - zero-bubble, one stage per rank -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ZeroBubble.h"
#include "Builder.h"

namespace stagewright {

Result<Schedule> zeroBubble(const char *kind, const ScheduleShape &shape,
                            const std::function<int64_t(int64_t)> &ahead) {
  using enum ActionKind;
  Result<Schedule> schedule =
      startSchedule(kind, shape, Placement::Linear, 1, 1);
  if (!schedule)
    return schedule;
  int64_t microbatches = shape.microbatches;
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    Builder order(shape.ranks, shape.forwardOnly);
    int64_t warmUp = ahead(shape.ranks - 1 - rank), behind = ahead(rank);
    for (int64_t m = 0; m < microbatches && m < warmUp; ++m)
      order.run(Forward, rank);
    for (int64_t m = 0; m < microbatches; ++m) {
      if (order.count(rank) < microbatches)
        order.run(Forward, rank);
      order.run(InputGradient, rank);
      if (m >= behind)
        order.run(WeightGradient, rank);
    }
    for (int64_t m = 0; m < microbatches && m < behind; ++m)
      order.run(WeightGradient, rank);
    schedule->ranks.push_back(order.take());
  }
  return schedule;
}

} // namespace stagewright
