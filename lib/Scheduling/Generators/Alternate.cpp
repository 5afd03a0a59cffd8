//===- Alternate.cpp - forwards first, then by turns ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Alternate.h"
#include "Builder.h"
#include <algorithm>

namespace stagewright {

Result<Schedule> alternate(const char *kind, const ScheduleShape &shape,
                           const std::function<int64_t(int64_t)> &warmUp) {
  Result<Schedule> schedule =
      startSchedule(kind, shape, Placement::Linear, 1, 1);
  if (!schedule)
    return schedule;
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    Builder order(shape.ranks, shape.forwardOnly);
    int64_t first = std::min(warmUp(shape.ranks - rank), shape.microbatches);
    for (int64_t m = 0; m < first; ++m)
      order.run(ActionKind::Forward, rank);
    for (int64_t m = 0; m < shape.microbatches; ++m) {
      order.run(ActionKind::Backward, rank);
      if (m + first < shape.microbatches)
        order.run(ActionKind::Forward, rank);
    }
    schedule->ranks.push_back(order.take());
  }
  return schedule;
}

} // namespace stagewright
