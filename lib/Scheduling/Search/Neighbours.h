//===- Neighbours.h - stages side by side on one rank as one ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Under linear placement the chunks of a rank are neighbours: nothing is gained
// by running anything between them, so a search sees one stage with their sums.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_NEIGHBOURS_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_NEIGHBOURS_H

#include "stagewright/Scheduling/Schedule.h"
#include "stagewright/Scheduling/ScheduleProblem.h"

namespace stagewright::search {

/// `problem`, of linear placement, with one stage per rank.
ScheduleProblem mergeNeighbours(const ScheduleProblem &problem);

/// A schedule of mergeNeighbours(problem) with each action once per chunk:
/// forwards upwards, the others downwards. Takes and holds as much.
Schedule expandNeighbours(const Schedule &merged, int64_t chunks);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_NEIGHBOURS_H
