//===- Exact.h - exact search for the best schedule -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For one stage per rank; each stage and kind runs microbatches first in, first
// out. The lower bound of Bounds/Counting.h is often the optimum, so the search
// first looks, depth first, for a schedule that meets it. The bound gives every
// action and every state of a rank a time window; each choice is checked
// against these, so the search seldom backtracks. If there is no such schedule,
// the optimum is found by bisection between the bound and the best value known.
//
// The choices are those of Giffler and Thompson (1960): the action that could
// end first, or one on the same rank that could start before that end. A
// forward may also be delayed, since it takes memory.
//
// If all microbatches have equal costs, we know no instance in which another
// order is better than first in, first out, but this is not proved. So a result
// is proved optimal only among such orders, unless it meets a lower bound.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_EXACT_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_EXACT_H

#include "Search/Best.h"
#include <optional>

namespace stagewright::search {

struct ExactResult {
  /// A schedule better than the incumbent; none if none was found.
  std::optional<Schedule> schedule;
  /// The better of `schedule` and the incumbent is optimal.
  bool proved = false;
  int64_t nodes = 0; ///< Choices made.
};

/// Looks for a schedule whose objective is below `incumbent` (infinite: none),
/// with at most `nodeLimit` choices, each of which takes about 1 us on few
/// ranks and longer on more. `bound` is a proved lower bound, preferably that
/// of lowerBounds(). Without `split`, backwards are not split. Needs one stage
/// per rank, backwards, and memory for one microbatch on every rank. Tables
/// have, per rank, an entry for every state (f, i, w), the numbers of F, I and
/// W that the rank has done, that fits the memory; if there are too many
/// states, nothing is found or proved.
ExactResult exactSchedule(const ScheduleProblem &problem,
                          ScheduleObjective objective, Seconds bound,
                          Seconds incumbent, int64_t nodeLimit,
                          bool split = true);

/// Runs exactSchedule() with `best` as the incumbent, if the problem qualifies.
/// Returns whether the best is now proved optimal.
bool searchExactly(Best &best, int64_t nodeLimit);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_EXACT_H
