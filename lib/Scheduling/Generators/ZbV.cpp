//===- ZbV.cpp - zero bubble with V placement -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two chunks in the form of a V, the second in lower case:
//
//   rank 0 FFFFFFFfiwfiwfiwfiwFIWfiwIWfiwIWfiwIWfiwIWIWIWIW
//          012345600011122233370044411555226663377744556677
//   rank 1  FFFFFfFfiwfiwfiwFIWfiwFIWfiwIWfiwIWfiwIiIWIWIWwW
//           012340510021132260043371154422655337664754657677
//   rank 2   FFFfFfFfiwfiwFIWfiwFIWfiwFIWfiwIWfiwIiIiIWIWwwWW
//            012031420031150042261153372264433755465764756767
//   rank 3    FfFfFfFfiwFIWfiwFIWfiwFIWfiwFIWfiwIiIiIiIWwwwWWW
//             001122330040041151152262263373374445566774567567
//
// The rank with the first stage also has the last one: its first gradient
// arrives after 2p - 1 forwards of its first stage, and all ranks hold the
// same. With F = I = W no rank is idle between its first and its last action.
//
//===----------------------------------------------------------------------===//

#include "Builder.h"

namespace stagewright {

/// Forwards, then F, I and W of the second chunk, once for this rank and once
/// for every later one, until the first gradient of the first chunk has
/// arrived.
static void warmUp(Builder &order, const ScheduleShape &shape, int64_t rank) {
  using enum ActionKind;
  int64_t down = rank, up = 2 * shape.ranks - 1 - rank;
  for (int64_t i = 0; i < 2 * (shape.ranks - rank) - 1; ++i)
    order.run(Forward, down);
  for (int64_t i = 0; i < rank; ++i) {
    order.run(Forward, up);
    order.run(Forward, down);
  }
  for (int64_t i = 0; i < shape.ranks - rank; ++i)
    order.run({Forward, InputGradient, WeightGradient}, up);
}

/// The actions that remain after the last forward.
static void drain(Builder &order, const ScheduleShape &shape, int64_t rank) {
  using enum ActionKind;
  int64_t down = rank, up = 2 * shape.ranks - 1 - rank;
  for (int64_t i = 0; i < rank; ++i) {
    order.run(InputGradient, down);
    order.run(InputGradient, up);
  }
  for (int64_t i = 0; i < shape.ranks - rank; ++i)
    order.run({InputGradient, WeightGradient}, down);
  for (int64_t stage : {up, down})
    for (int64_t i = 0; i < rank; ++i)
      order.run(WeightGradient, stage);
}

Result<Schedule> generateZbV(const ScheduleShape &shape) {
  using enum ActionKind;
  Result<Schedule> schedule = startSchedule("zb-v", shape, Placement::V, 2, 2);
  if (!schedule)
    return schedule;
  int64_t least = 2 * shape.ranks - 1;
  if (shape.microbatches < least)
    return needs("zb-v", "at least " + std::to_string(least) +
                             " microbatches on " + std::to_string(shape.ranks) +
                             " ranks, got " +
                             std::to_string(shape.microbatches) +
                             "; take more, fewer ranks, or v-half");
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    Builder order(schedule->stages, shape.forwardOnly);
    int64_t down = rank, up = 2 * shape.ranks - 1 - rank;
    warmUp(order, shape, rank);
    while (order.count(up) < shape.microbatches) {
      if (order.count(down) < shape.microbatches)
        order.run(Forward, down);
      order.run({InputGradient, WeightGradient}, down);
      order.run({Forward, InputGradient, WeightGradient}, up);
    }
    drain(order, shape, rank);
    schedule->ranks.push_back(order.take());
  }
  return schedule;
}

} // namespace stagewright
