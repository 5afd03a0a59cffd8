//===- Recompute.h - fitting orders into memory -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes an order that needs too much memory fit. Where memory runs out, either
// the activations whose backward is furthest away are freed (Belady's rule) and
// recomputed by an R before that backward, or a W is run early. Then each R
// moves to the earliest idle time that memory allows.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_RECOMPUTE_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_RECOMPUTE_H

#include "Search/Best.h"
#include <optional>

namespace stagewright::search {

/// Makes `schedule`, which has no R, fit the memory of `problem`, with each R
/// right before its backward; none if that is not enough. `weightsFirst`: run W
/// early before adding an R. Time: number of actions times microbatches in
/// flight.
std::optional<Schedule> addRecompute(const Schedule &schedule,
                                     const ScheduleProblem &problem,
                                     bool weightsFirst);

/// `schedule` with every R of `rank` in the earliest idle time that memory
/// allows and that is at least half as long as the R; `timing` is that of
/// `schedule`.
Schedule advanceRecompute(const Schedule &schedule, const Timeline &timing,
                          const ScheduleProblem &problem, int64_t rank);

/// Finds orders for more memory than there is, makes them fit and offers them.
void searchRecompute(const ScheduleProblem &problem, Best &best);

/// Microbatches one after another, each through all stages and back: the order
/// that needs the least memory.
Schedule oneByOne(const ScheduleProblem &problem, bool split);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_RECOMPUTE_H
