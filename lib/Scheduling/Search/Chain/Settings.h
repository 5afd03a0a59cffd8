//===- Settings.h - greedy construction with the best settings --*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which settings of the greedy construction suit a problem is found by trying:
// a dozen to begin with, then from the best few one setting at a time is
// changed until no change helps.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_SETTINGS_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_SETTINGS_H

#include "Search/Best.h"
#include "Search/Chain/Greedy.h"

namespace stagewright::search {

/// Offers what it constructs to `best` until the bound is met or about `budget`
/// actions have been placed; at least one round. Returns the orders that the
/// descents ended at, the best first.
std::vector<FastOrders> searchSettings(const FastProblem &problem, Best &best,
                                       int64_t budget);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_SETTINGS_H
