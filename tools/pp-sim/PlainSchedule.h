//===- PlainSchedule.h - a schedule without a model -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_SIM_PLAINSCHEDULE_H
#define STAGEWRIGHT_TOOLS_PP_SIM_PLAINSCHEDULE_H

#include "ScheduleFlags.h"
#include "stagewright/Scheduling/AutoSchedule.h"

namespace stagewright {

/// A schedule, what it costs and what any other would.
struct PlainSchedule {
  ScheduleProblem problem;
  /// Stages lie as `problem.placement` says; false for a file's own placement,
  /// for which work alone bounds.
  bool hasPlacement = true;
  Schedule schedule;
  ScheduleTiming timing;
  LowerBounds bounds;
  /// Where every backward of the schedule is whole: bounds of such schedules.
  std::optional<LowerBounds> boundsWithoutSplit;
  std::string name;   ///< "zb-h1", "auto", "orders.csv".
  std::string origin; ///< What auto found it by.
  bool optimal = false;
  /// The best of each placement, where that was free; the first is this one.
  std::vector<AutoSchedule> placements;

  /// "v placement", or where it comes from.
  std::string placementText() const;
  /// "zb-h1, 4 ranks, 8 microbatches, linear placement".
  std::string title() const;
};

/// m * T, the most work of a rank, pairs as they overlap, without forwards that
/// run again; and that rank.
std::pair<Seconds, int64_t> mostWork(const Schedule &schedule,
                                     const ScheduleProblem &problem);

/// Makes, or reads, and times what `flags` ask for. Errors name the flag.
Result<PlainSchedule> makeSchedule(const ScheduleFlags &flags);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_SIM_PLAINSCHEDULE_H
