//===- GPipe.cpp - all forwards, then all backwards -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two stages, four microbatches (a backward takes two slots):
//
//   rank 0 |F0|F1|F2|F3|        |B0   |B1   |B2   |B3   |
//   rank 1    |F0|F1|F2|F3|B0   |B1   |B2   |B3   |
//
// Backwards run in increasing order too, unlike LoopedBFS in PyTorch: gradients
// are then summed in the same order as under 1F1B, bit for bit.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

Result<Schedule> generateGPipe(const ScheduleShape &shape) {
  Schedule schedule{"gpipe", shape.ranks, shape.microbatches, {}};
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    Order order;
    for (int64_t m = 0; m < shape.microbatches; ++m)
      order.push_back({ActionKind::Forward, rank, m});
    for (int64_t m = 0; m < shape.microbatches && !shape.forwardOnly; ++m)
      order.push_back({ActionKind::Backward, rank, m});
    schedule.ranks.push_back(std::move(order));
  }
  return schedule;
}

} // namespace stagewright
