//===- LocalSearch.h - improving orders by moves ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threshold accepting (Dueck and Scheuer, 1990) over orders with one stage per
// rank. As in job shop search, most moves touch the critical path: no other
// move makes the worst rank end earlier. A move is accepted if the result is
// worse by at most a threshold, which falls to zero during a round. Each round
// starts from the best order of the previous one, with its own first threshold.
// Random numbers have a fixed seed, and effort is counted in letters (actions)
// timed, so that every run on every machine gives the same result.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_LOCALSEARCH_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_LOCALSEARCH_H

#include "Search/Best.h"

namespace stagewright::search {

/// Improves the first of `starts`, orders with one stage per rank that fit the
/// memory, and offers better ones to `best`, until its bound is met or about
/// `budget` letters have been timed.
void searchLocally(const FastProblem &problem,
                   const std::vector<FastOrders> &starts, Best &best,
                   int64_t budget);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_LOCALSEARCH_H
