//===- ScheduleTimeline.h - a timed schedule to look at ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What timeSchedule() has found out, in the shapes that pictures and traces are
// made of. Hops are delays (ScheduleProblem.h), so those of a channel may
// overlap; a trace gives them as many lanes as that takes.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_SCHEDULETIMELINE_H
#define STAGEWRIGHT_SIMULATION_SCHEDULETIMELINE_H

#include "stagewright/Scheduling/Timing.h"
#include "stagewright/Simulation/PipelineTimeline.h"

namespace stagewright {

/// For drawGrid().
Timeline timelineOf(const Schedule &schedule, const ScheduleTiming &timing);

/// For drawSvg() and writeTrace().
struct TimedPipeline {
  /// Ranks as processors; a channel for every two neighbouring stages that lie
  /// on different ranks.
  PipelineModel model;
  PipelineTimeline timeline;
};

/// `timing` must be that of `schedule` under `problem`. An update takes no time
/// and is left out. O(n log n) for n actions.
TimedPipeline timedPipelineOf(const Schedule &schedule,
                              const ScheduleProblem &problem,
                              const ScheduleTiming &timing);

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_SCHEDULETIMELINE_H
