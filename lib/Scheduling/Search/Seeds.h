//===- Seeds.h - schedules of all suitable generators -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A search starts from the schedules of all generators whose placement, chunks
// and requirements fit the problem, so its result is never worse. They are made
// with the warm-up for the longest hop and with that for no hops.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_SEEDS_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_SEEDS_H

#include "stagewright/Scheduling/Schedule.h"
#include "stagewright/Scheduling/ScheduleProblem.h"

namespace stagewright::search {

/// Schedules of the generators that are defined for `problem`, without
/// duplicates; `kind` is the generator's name. Memory limits are not checked.
std::vector<Schedule> seedsFor(const ScheduleProblem &problem, bool split);

/// Whether all peaks are within the problem's memory, apart from rounding.
bool withinMemory(const std::vector<double> &peaks,
                  const ScheduleProblem &problem);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_SEEDS_H
