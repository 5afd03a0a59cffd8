//===- Timing.h - times and memory of a schedule ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two metrics that are never mixed (schedules.md 1.0):
//  * makespan: from the first start to the last end on any rank; correct if a
//    step ends with something global.
//  * span: the max time from a rank's first start to its last end; correct if
//    ranks may enter the next step early.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_TIMING_H
#define STAGEWRIGHT_SCHEDULING_TIMING_H

#include "stagewright/Scheduling/Schedule.h"
#include "stagewright/Scheduling/ScheduleProblem.h"

namespace stagewright {

/// The times and memory of a schedule of a problem.
struct ScheduleTiming {
  Seconds makespan, span;
  std::vector<double> peaks; ///< By rank, in the unit of the problem.
  /// By rank, for each action of its order: start and end.
  std::vector<std::vector<std::pair<Seconds, Seconds>>> times;
  std::vector<Seconds> work; ///< By rank: the total time of its actions.

  /// (value - work) / value, with the max work over ranks: the bubble rate of
  /// the zero-bubble papers, of the makespan or of the span.
  double bubbleRate(Seconds value) const;
};

/// The time of an action of `kind` on `stage`: B is the sum of I and W, R is F,
/// U is 0.
Seconds durationOf(ActionKind kind, const StageCosts &stage);

/// Times `schedule`: every action starts as early as its rank's order and its
/// inputs allow. Any placement is valid; an edge between two ranks costs a hop.
/// Fails if verify() does; memory is reported, not enforced (verifyMemory()).
/// Linear in the number of actions; p = 64, M = 512, v = 2 takes well under a
/// second.
Result<ScheduleTiming> timeSchedule(const Schedule &schedule,
                                    const ScheduleProblem &problem);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_TIMING_H
