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

/// The group of `shape`, p if it names none. Every group needs at least p
/// microbatches, lest a rank wait for a microbatch that waits for its own,
/// unless there is only one.
Result<int64_t> checkGroup(const char *kind, const ScheduleShape &shape);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_ROUNDS_H
