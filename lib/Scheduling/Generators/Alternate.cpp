//===- Alternate.cpp - forwards first, then by turns ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Alternate.h"
#include <algorithm>

namespace stagewright {

Schedule alternate(const char *kind, const ScheduleShape &shape,
                   int64_t (*warmUp)(int64_t ranksFromEnd)) {
  Schedule schedule{kind, shape.ranks, shape.microbatches, {}};
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    int64_t first = std::min(warmUp(shape.ranks - rank), shape.microbatches);
    if (shape.forwardOnly)
      first = shape.microbatches;
    Order order;
    for (int64_t m = 0; m < first; ++m)
      order.push_back({ActionKind::Forward, rank, m});
    for (int64_t m = 0; m < shape.microbatches && !shape.forwardOnly; ++m) {
      order.push_back({ActionKind::Backward, rank, m});
      if (m + first < shape.microbatches)
        order.push_back({ActionKind::Forward, rank, m + first});
    }
    schedule.ranks.push_back(std::move(order));
  }
  return schedule;
}

} // namespace stagewright
