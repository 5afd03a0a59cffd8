//===- VPolish.h - annealing along the critical path ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simulated annealing. Only moves that break up a block of the critical path
// can help, so nine of ten moves are these: an action of the block moves to a
// place after or before the block, or the last action of the block, for whose
// result another rank waits, moves earlier. The others move a random action by
// up to ten places. The cost is the objective plus a weight times the mean over
// the ranks of the value whose max is the objective. A move may raise it by a
// random amount in proportion to a temperature, which falls to zero.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VPOLISH_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VPOLISH_H

#include "Search/Best.h"

namespace stagewright::search {

/// Improves `orders` and offers the result to `best`. Stops after about
/// `budget` timed actions; proposing a move counts as 20.
void polish(const FastProblem &problem, const FastOrders &orders, Best &best,
            int64_t budget);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VPOLISH_H
