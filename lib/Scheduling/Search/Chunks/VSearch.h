//===- VSearch.h - orders of several chunks per rank ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For ranks with several stages that are not adjacent (loop and V placement).
// Orders are built by rounds of backwards (V, two chunks) and by walks along
// patterns with varied settings; the best are then improved by moves.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VSEARCH_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VSEARCH_H

#include "Search/Best.h"

namespace stagewright::search {

/// Offers the orders it finds to `best`. Stops when `best` meets its bound, or
/// after placing about `budget` actions and timing ten times as many in moves.
void searchChunks(const FastProblem &problem, Best &best, int64_t budget);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VSEARCH_H
