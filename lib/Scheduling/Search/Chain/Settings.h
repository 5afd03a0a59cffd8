//===- Settings.h - search for the settings of Greedy.h ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the settings of the greedy construction for a problem by trial: first
// 16 combinations, then, from each of the best six, a descent that changes one
// setting at a time until no change helps.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_SETTINGS_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_SETTINGS_H

#include "Search/Best.h"
#include "Search/Chain/Greedy.h"

namespace stagewright::search {

/// Offers the orders to `best` until its bound is met or about `budget` actions
/// have been placed, but tries at least the first 16 combinations. Returns the
/// results of the descents, the best first; none if those 16 met the bound.
std::vector<FastOrders> searchSettings(const FastProblem &problem, Best &best,
                                       int64_t budget);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_SETTINGS_H
