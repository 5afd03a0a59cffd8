//===- ScheduleWalk.h - critical path of a timed schedule -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_SCHEDULEWALK_H
#define STAGEWRIGHT_SIMULATION_SCHEDULEWALK_H

#include "stagewright/Scheduling/Timing.h"
#include "stagewright/Simulation/PipelineTimeline.h"

namespace stagewright {

class ScheduleWalk {
public:
  /// An action's place in the schedule.
  struct Place {
    size_t rank = 0, index = 0;
  };
  /// A value that an action waits for.
  struct Input {
    Place maker;
    size_t edge = 0; ///< The earlier of the two stages.
    bool back = false;
    Seconds made, arrived;
  };

  /// The arguments must outlive the walk.
  ScheduleWalk(const Schedule &schedule, const ScheduleProblem &problem,
               const Timeline &timing);

  /// The place of the forward of `stage`, or of its B or I if `back`.
  const Place &made(bool back, size_t stage, int64_t microbatch) const {
    return places[(back * size_t(schedule.stages) + stage) *
                      size_t(schedule.microbatches) +
                  size_t(microbatch)];
  }
  PipelineBlock blockAt(Place place) const;

  /// The path from the start of the step to its end. `channels`: by stage, the
  /// number of the channel after it.
  std::vector<CriticalBlock>
  criticalPath(const std::vector<size_t> &channels) const;

private:
  std::optional<Input> inputOf(Place place) const;
  std::optional<Place> lastEnd() const;

  const Schedule &schedule;
  const ScheduleProblem &problem;
  const Timeline &timing;
  std::vector<Place> places; ///< Of F, then of B or I.
};

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_SCHEDULEWALK_H
