//===- Timing.h - times and memory of a schedule ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two metrics that are never mixed (schedules.md 1.0):
//  * makespan: from the first start to the last end anywhere; right where a
//  step
//    ends with something global.
//  * span: the largest time from a rank's first start to its last end; right
//    where ranks may enter the next step early.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_TIMING_H
#define STAGEWRIGHT_SCHEDULING_TIMING_H

#include "stagewright/Scheduling/Schedule.h"
#include "stagewright/Scheduling/ScheduleProblem.h"

namespace stagewright {

/// What a schedule takes under a problem.
struct ScheduleTiming {
  Seconds makespan, span;
  std::vector<double> peaks; ///< By rank, in the unit of the problem.
  /// By rank, for each action of its order: start and end.
  std::vector<std::vector<std::pair<Seconds, Seconds>>> times;
  std::vector<Seconds> work; ///< By rank: all its actions one after another.

  /// (value - work) / value, the largest over ranks of the work: the bubble
  /// rate of the zero-bubble papers, of the makespan or of the span.
  double bubbleRate(Seconds value) const;
};

/// What an action of `kind` takes on `stage`: B the sum of I and W, R a
/// forward, U nothing.
Seconds durationOf(ActionKind kind, const StageCosts &stage);

/// Times `schedule`: every action as early as its rank's order and its inputs
/// allow. Stages may lie anywhere; a hop is paid where they lie on two ranks.
/// Fails where verify() does; memory is reported, not enforced
/// (verifyMemory()). Linear in the number of actions: p = 64, M = 512, v = 2 in
/// well under a second.
Result<ScheduleTiming> timeSchedule(const Schedule &schedule,
                                    const ScheduleProblem &problem);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_TIMING_H
