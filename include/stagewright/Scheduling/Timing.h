//===- Timing.h - times and memory of a schedule ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When every action of a schedule starts and ends, given its duration: the
// longest path in the graph of Dependences.h. A rank runs one action at a time;
// a transfer is a delay between the end of the producer and the start of the
// use, and occupies no resource (the hop model of the zero-bubble paper's
// public simulator). Pipeline.h simulates busy links; Search/FastTiming.h times
// the schedules that a search tries.
//
// There are two metrics (docs/schedules.md, "Makespan and span"):
//  * makespan: from the first start to the last end on any rank; for steps that
//    end with a global operation, such as clipping by the norm of all
//    gradients.
//  * span: the max over the ranks of the time from a rank's first start to its
//    last end; for steps after which a rank may enter the next step early.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_TIMING_H
#define STAGEWRIGHT_SCHEDULING_TIMING_H

#include "stagewright/Scheduling/Schedule.h"
#include "stagewright/Scheduling/ScheduleProblem.h"
#include "stagewright/Scheduling/StageGraph.h"
#include <functional>

namespace stagewright {

/// An action with its time.
struct TimedAction {
  Action action;
  Seconds start, end;
};

/// A timed step.
struct Timeline {
  std::vector<std::vector<TimedAction>> ranks; ///< In the order of each rank.
  Seconds makespan, span;
  std::vector<Seconds> work; ///< By rank: the total time of its actions.
  /// Peak memory by rank, in the unit of the ScheduleProblem; empty if there is
  /// none.
  std::vector<double> peaks;

  /// Sets makespan and span to those of `ranks`.
  void measure();
};

/// Times `schedule`: every action starts as early as its rank's order and its
/// inputs allow. Any placement is valid; an edge between two ranks costs a hop.
/// Fails if problem.check(), checkSize() or verify() of the chain of stages
/// does; memory is reported, not enforced (verifyMemory()).
/// Linear in the number of actions; 64 ranks with 2 chunks and 512 microbatches
/// take well under a second.
Result<Timeline> timeSchedule(const Schedule &schedule,
                              const ScheduleProblem &problem);

/// Times for a schedule's stages and its graph's edges.
struct StepTimes {
  std::vector<StageTimes> stages;
  std::vector<Seconds> hops; ///< By edge of the graph; empty: all 0.
  /// Added to the time of an action on a rank; empty: nothing.
  std::function<Seconds(const Action &, int64_t rank)> delay = {};

  Seconds of(const Action &action, int64_t rank) const {
    Seconds time = stages[action.stage].of(action.kind);
    return delay ? time + delay(action, rank) : time;
  }
};

/// Equal stages: F, I and W take one second each, transfers no time.
StepTimes unitTimes(int64_t stages);

/// Times `schedule` on any graph; a producer waits for a free slot of each of
/// its edges (StageEdge::depth). The actions of a pair do not overlap. Fails if
/// verify() does.
Result<Timeline> timeSchedule(const Schedule &schedule, const StageGraph &graph,
                              const StepTimes &times);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_TIMING_H
