//===- LocalSearch.h - better orders by moving letters ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threshold accepting (Dueck and Scheuer, 1990) over the orders of one stage
// per rank. As in job shop search, most moves touch the critical path: nothing
// else makes the worst rank end earlier. A move is taken if it is worse by no
// more than a threshold, which falls to zero over a round; rounds start from
// the best order found, with a high threshold or a low one. Random numbers come
// from a fixed seed, and effort is counted in letters timed, so that every run
// and machine gives the same.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_LOCALSEARCH_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_LOCALSEARCH_H

#include "Search/Best.h"

namespace stagewright::search {

/// Improves `starts`, orders of one stage per rank within memory, and offers
/// what is better to `best`, until its bound is met or about `budget` letters
/// have been timed.
void searchLocally(const FastProblem &problem,
                   const std::vector<FastOrders> &starts, Best &best,
                   int64_t budget);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_LOCALSEARCH_H
