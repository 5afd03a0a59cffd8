//===- VBlock.h - a block repeated every six slots --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: V-Half and V-Min (Qi et al., Pipeline Parallelism with
// Controllable Memory, NeurIPS 2024, section 3). The paper gives the slots of
// one microbatch and repeats them; how the gaps of warm-up and drain are closed
// is ours:
//
//  1. I and F in the slots of the block, one block every six slots; W in the
//     first slot that is free. The most a rank holds in that order is the cap.
//  2. Slot by slot every rank runs the next action of that order. Where it
//  would
//     wait, it runs the first later one that can start: any I or W, or a
//     forward if the rank, on the way to where that forward stood, stays below
//     the cap.
//
// An action that is taken early is ready, and the rest stays in its order, so
// nothing can deadlock. Takes time linear in the actions, but for the waiting.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_VBLOCK_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_VBLOCK_H

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// Slots of microbatch 0 on a rank; those of microbatch m are 6 m later. No two
/// are equal modulo 6.
struct VBlock {
  int64_t forward0, forward1, inputGradient1, inputGradient0;
};

/// The schedule of `block(rank)` for every rank, two chunks on a V.
Result<Schedule> repeatBlock(const char *kind, const ScheduleShape &shape,
                             const std::function<VBlock(int64_t)> &block);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_VBLOCK_H
