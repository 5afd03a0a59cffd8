//===- Recompute.h - forwards again where memory asks for it ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An order that holds too much is made to fit: where memory runs out, the
// microbatch whose backward is furthest away gives its activations up (Belady's
// rule) and runs its forward again before that backward, or a weight gradient
// is run early. Then each R goes to the earliest idle time that memory allows.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_RECOMPUTE_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_RECOMPUTE_H

#include "Search/Best.h"
#include <optional>

namespace stagewright::search {

/// `schedule`, which has no R, within the memory of `problem`, each R right
/// before its backward; none where that is not enough. `weightsFirst`: early
/// weight gradients before R. Linear in the actions times those in flight.
std::optional<Schedule> addRecompute(const Schedule &schedule,
                                     const ScheduleProblem &problem,
                                     bool weightsFirst);

/// `schedule` with every R of `rank` in the earliest idle time that memory
/// allows, by `timing`.
Schedule advanceRecompute(const Schedule &schedule,
                          const ScheduleTiming &timing,
                          const ScheduleProblem &problem, int64_t rank);

/// Offers orders for more memory than there is, made to fit.
void searchRecompute(const ScheduleProblem &problem, Best &best);

/// Microbatches one after another, each through all stages and back: the order
/// that holds least.
Schedule oneByOne(const ScheduleProblem &problem, bool split);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_RECOMPUTE_H
