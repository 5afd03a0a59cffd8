//===- Seeds.h - what the generators give for a problem ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No search gives less than the best known order: every generator whose
// placement, chunks and domain fit is asked, with several warm-ups and groups
// where it takes them.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_SEEDS_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_SEEDS_H

#include "stagewright/Scheduling/Schedule.h"
#include "stagewright/Scheduling/ScheduleProblem.h"

namespace stagewright::search {

/// Schedules of the generators that are defined for `problem`; their `kind` is
/// the generator's name. Memory is not looked at.
std::vector<Schedule> seedsFor(const ScheduleProblem &problem, bool split);

/// Whether peaks are within the problem's memory, but for rounding.
bool withinMemory(const std::vector<double> &peaks,
                  const ScheduleProblem &problem);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_SEEDS_H
