//===- Exact.h - a schedule that meets a value, or none ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One stage per rank, first in first out per stage and kind. The lower bound of
// Bounds/Counting.h is so often an optimum that the search starts there: it
// looks for a schedule of just that value, depth first, and each choice is
// checked against the windows that the bound leaves to every action and to
// every state of a rank, which is why it rarely turns back. If there is none,
// it goes up from below and down from above by halves.
//
// Choices are those of Giffler and Thompson (1960): the action that could end
// first, or one that would have to start before that on the same rank; a
// forward may also be put off, since it takes memory.
//
// First in first out is no loss where microbatches cost the same on every stage
// in any instance known to us, but not proved to be none; what is proved here
// is an optimum among such orders, unless it meets a lower bound.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_EXACT_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_EXACT_H

#include "Search/Best.h"
#include <optional>

namespace stagewright::search {

struct ExactResult {
  /// Better than the incumbent; none if nothing better was found.
  std::optional<Schedule> schedule;
  /// The better of `schedule` and the incumbent is an optimum.
  bool proved = false;
  int64_t nodes = 0; ///< Choices made.
};

/// Looks for a schedule whose objective is below `incumbent` with at most
/// `nodeLimit` choices, about 1 us each; `bound` is a proved lower bound, best
/// that of lowerBounds(). An infinite incumbent stands for none. Where `split`
/// is not set, backwards are whole. Needs one stage per rank, backwards, and
/// memory for one microbatch on every rank. Tables take numbers (f, i, w) that
/// memory allows, times ranks; where that is too much, nothing is found or
/// proved.
ExactResult exactSchedule(const ScheduleProblem &problem,
                          ScheduleObjective objective, Seconds bound,
                          Seconds incumbent, int64_t nodeLimit,
                          bool split = true);

/// exactSchedule() beside the best of `best`, where the problem is one for it;
/// whether the best is now proved to be one.
bool searchExactly(Best &best, int64_t nodeLimit);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_EXACT_H
