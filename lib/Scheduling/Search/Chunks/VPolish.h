//===- VPolish.h - moves along the critical path ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only moves that take apart a block of the critical path can help: something
// leaves the block for a place behind it, or in front of it where there is a
// pause, or the block's last action, whose result is waited for, comes earlier.
// A move is kept if the objective and, for a smaller part, the mean over the
// ranks get no worse than a temperature allows, which falls to zero.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VPOLISH_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VPOLISH_H

#include "Search/Best.h"

namespace stagewright::search {

/// Improves `orders`, offers the best to `best`; times about `budget` actions.
void polish(const FastProblem &problem, const FastOrders &orders, Best &best,
            int64_t budget);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VPOLISH_H
