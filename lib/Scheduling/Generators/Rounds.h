//===- Rounds.h - depth-first order of chunks -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the depth-first order of several chunks per rank:
// each chunk runs a group of G microbatches before the next chunk runs the same
// group.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_ROUNDS_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_ROUNDS_H

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// The stage of each forward of `rank`, or of each backward, in order: G
/// microbatches on the first chunk, G on the next, and so on; then the same for
/// the next G microbatches. Backwards go from the last chunk to the first.
std::vector<int64_t> rounds(const ScheduleShape &shape, int64_t rank,
                            int64_t group, bool backward);

/// Rank r runs (v - 1) G + forwardsPerHop (p - 1 - r) forwards, then alternates
/// forwards and backwards, both in the order of rounds(). If backwards are
/// `split`, the W that belongs to an I runs after r more I.
Result<Schedule> depthFirst(const char *kind, const ScheduleShape &shape,
                            int64_t forwardsPerHop, bool split);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_ROUNDS_H
