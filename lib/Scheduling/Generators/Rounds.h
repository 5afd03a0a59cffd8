//===- Rounds.h - chunks by turns -------------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: the depth-first order of several chunks per rank, in
// which each chunk runs a group of microbatches before it is the next one's
// turn.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_ROUNDS_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_ROUNDS_H

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// The stages of `rank` in the order of its forwards, or of its backwards: G
/// microbatches of the first chunk, G of the next, and so on; again for the
/// next G microbatches. Backwards go from the last chunk to the first.
std::vector<int64_t> rounds(const ScheduleShape &shape, int64_t rank,
                            int64_t group, bool backward);

/// Rank r runs (v - 1) G + forwardsPerHop (p - 1 - r) forwards, then a forward
/// and a backward by turns, both in rounds. Where backwards are `split`, the W
/// of an I follows r of them later.
Result<Schedule> depthFirst(const char *kind, const ScheduleShape &shape,
                            int64_t forwardsPerHop, bool split);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_ROUNDS_H
