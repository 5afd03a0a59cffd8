//===- AutoSchedule.h - a schedule by search --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All generators as seeds, greedy construction with many settings, local search
// with restarts, exact search where the problem is small; stops as soon as the
// lower bound is met. Deterministic: effort is counted in steps, not in
// seconds.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_AUTOSCHEDULE_H
#define STAGEWRIGHT_SCHEDULING_AUTOSCHEDULE_H

#include "stagewright/Scheduling/LowerBounds.h"
#include "stagewright/Scheduling/Timing.h"
#include <functional>

namespace stagewright {

enum class ScheduleObjective { Makespan, Span };

struct AutoScheduleOptions {
  ScheduleObjective objective = ScheduleObjective::Makespan;
  /// How hard to try: 1 is what the command line uses, 0 only the seeds and one
  /// round of construction. Time grows about linearly.
  double effort = 1;
  /// May run forwards again where memory asks for it.
  bool recompute = false;
  /// Whether a backward may be split in I and W.
  bool split = true;
  /// Called now and then on long searches: best value so far and the bound.
  std::function<void(Seconds best, Seconds bound)> progress;
};

struct AutoSchedule {
  Schedule schedule;
  ScheduleTiming timing;
  LowerBounds bounds;
  Placement placement = Placement::Linear; ///< It and its bounds are for.
  std::string origin;   ///< Which seed or search found it, such as "zb-h2".
  bool optimal = false; ///< Meets its bound, or the exact search was finished.
};

/// The best schedule found for the problem's placement. Fails where check()
/// fails, and where the memory is too small for any order: the error says by
/// how much, and the smallest limit that would do.
Result<AutoSchedule> findSchedule(const ScheduleProblem &problem,
                                  const AutoScheduleOptions &options = {});

/// findSchedule() for every placement that `chunks` allows: linear (neighbours
/// merged), loop and v; the best by the objective first, of equal ones the
/// better by the other metric. `problem.placement` is ignored; costs are those
/// of ranks * chunks stages.
Result<std::vector<AutoSchedule>>
findScheduleAnyPlacement(const ScheduleProblem &problem,
                         const AutoScheduleOptions &options = {});

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_AUTOSCHEDULE_H
