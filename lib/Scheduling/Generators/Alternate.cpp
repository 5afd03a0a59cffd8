//===- Alternate.cpp - warm-up, then alternating B and F ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Alternate.h"
#include "Builder.h"
#include <algorithm>
#include <numeric>

namespace stagewright {

Result<Schedule> alternate(const char *kind, const ScheduleShape &shape,
                           const WarmUp &warmUp) {
  Result<Schedule> schedule =
      startSchedule(kind, shape, Placement::Linear, 1, 1);
  if (!schedule)
    return schedule;
  std::vector<int64_t> replicas = shape.replicas;
  replicas.resize(shape.ranks, 1);
  int64_t ahead = std::accumulate(replicas.begin(), replicas.end(), int64_t(0));
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    Builder order(shape.ranks, shape.forwardOnly);
    int64_t own = replicas[rank];
    int64_t first = std::min(warmUp(ahead, own), shape.microbatches);
    ahead -= own;
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
