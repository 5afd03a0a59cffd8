//===- ScheduleTimeline.h - a timed schedule as a timeline ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts the result of timeSchedule() to the structures from which grids, SVG
// files and traces are written. Hops are delays (ScheduleProblem.h), so hops on
// one channel may overlap; a trace draws overlapping ones in separate lanes.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_SCHEDULETIMELINE_H
#define STAGEWRIGHT_SIMULATION_SCHEDULETIMELINE_H

#include "stagewright/Scheduling/Timing.h"
#include "stagewright/Simulation/PipelineTimeline.h"

namespace stagewright {

/// Input of drawSvg() and writeTrace().
struct TimedPipeline {
  /// Ranks are processors. There is a channel between stages s and s + 1 if any
  /// microbatch crosses from one rank to another there.
  PipelineModel model;
  PipelineTimeline timeline;
};

/// `timing` must be that of `schedule` for `problem`. Updates take no time and
/// are left out. O(n (log n + L)) for n actions and L lanes of a channel.
TimedPipeline timedPipelineOf(const Schedule &schedule,
                              const ScheduleProblem &problem,
                              const Timeline &timing);

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_SCHEDULETIMELINE_H
