//===- VBlock.h - a block repeated every six slots --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: V-Half and V-Min (Qi et al., Pipeline Parallelism
// with Controllable Memory, NeurIPS 2024, section 3). The paper defines the
// slots of one microbatch and repeats them. The gaps of warm-up and drain are
// filled by an algorithm of our own:
//
//  1. I and F take the slots of the block, one block every six slots; W takes
//     the next free slot. The max that any rank holds in this order is the cap.
//  2. Slot by slot, every rank runs the next action of this order. If that has
//     to wait, the rank runs the first later action that can start: any I or W,
//     or a forward if all actions before it leave the rank below the cap.
//     The shorter of two results is taken; in one of them W are run late.
//
// An action is moved forward only when it can start, and the others keep their
// order, so there is no deadlock. Linear in the number of actions, plus the
// search in slots where a rank waits.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_VBLOCK_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_VBLOCK_H

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// The slots of microbatch 0 on a rank; those of microbatch m are 6 m later. No
/// two are equal modulo 6.
struct VBlock {
  int64_t forward0, forward1, inputGradient1, inputGradient0;
};

/// The schedule in which rank r repeats `block(r)`, with two chunks on a V.
Result<Schedule> repeatBlock(const char *kind, const ScheduleShape &shape,
                             const std::function<VBlock(int64_t)> &block);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_VBLOCK_H
