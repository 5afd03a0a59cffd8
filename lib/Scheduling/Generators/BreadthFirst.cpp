//===- BreadthFirst.cpp - all microbatches through one chunk --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two chunks, the second in lower case:
//
//   rank 0 FFFFFFFFffffffff         bbbbbbbbbbbbbbbbBBBBBBBBBBBBBBBB
//          0123456701234567         00112233445566770011223344556677
//   rank 1  FFFFFFFFffffffff      bbbbbbbbbbbbbbbbBBBBBBBBBBBBBBBB
//           0123456701234567      00112233445566770011223344556677
//   rank 2   FFFFFFFFffffffff   bbbbbbbbbbbbbbbbBBBBBBBBBBBBBBBB
//            0123456701234567   00112233445566770011223344556677
//   rank 3    FFFFFFFFffffffffbbbbbbbbbbbbbbbbBBBBBBBBBBBBBBBB
//             012345670123456700112233445566770011223344556677
//
// A rank finishes a chunk before it starts the next, so sharded weights are
// gathered once for all forwards and once for all backwards.
//
//===----------------------------------------------------------------------===//

#include "Builder.h"
#include "ChunkByChunk.h"
#include <algorithm>

namespace stagewright {

Result<Schedule> chunkByChunk(const char *kind, const ScheduleShape &shape,
                              bool decreasing) {
  Result<Schedule> schedule = startSchedule(kind, shape, Placement::Loop, 2, 0);
  if (!schedule)
    return schedule;
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    Order order;
    for (int64_t stage = rank; stage < schedule->stages; stage += shape.ranks)
      for (int64_t m = 0; m < shape.microbatches; ++m)
        order.push_back({ActionKind::Forward, stage, m});
    size_t forwards = shape.forwardOnly ? 0 : order.size();
    for (size_t i = forwards; i-- > 0;)
      order.push_back({ActionKind::Backward, order[i].stage,
                       decreasing
                           ? order[i].microbatch
                           : shape.microbatches - 1 - order[i].microbatch});
    schedule->ranks.push_back(std::move(order));
  }
  return schedule;
}

Result<Schedule> generateBreadthFirst(const ScheduleShape &shape) {
  return chunkByChunk("breadth-first", shape, /*decreasing=*/false);
}

} // namespace stagewright
