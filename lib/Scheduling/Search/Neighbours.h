//===- Neighbours.h - merges the stages of a rank ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Under linear placement the chunks of a rank are consecutive stages. Running
// other actions between them gains nothing, so the search uses one stage per
// rank with the sums of their costs.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_NEIGHBOURS_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_NEIGHBOURS_H

#include "stagewright/Scheduling/Schedule.h"
#include "stagewright/Scheduling/ScheduleProblem.h"

namespace stagewright::search {

/// `problem`, which has linear placement, with one stage per rank.
ScheduleProblem mergeNeighbours(const ScheduleProblem &problem);

/// Repeats each action of a schedule of mergeNeighbours(problem) for every
/// chunk: forwards and recomputes in order of stages, the others in reverse.
/// Time and memory stay the same; without backwards, memory is that of one
/// chunk at a time.
Schedule expandNeighbours(const Schedule &merged, int64_t chunks);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_NEIGHBOURS_H
