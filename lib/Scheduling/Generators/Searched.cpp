//===- Searched.cpp - the best order found for a plan ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/AutoSchedule.h"
#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// A fixed effort, so that a program runs in the order that its plan was timed
/// with; a planner waits about 0.2 s for the search.
static constexpr double kEffort = 0.1;
/// Max actions of a step.
static constexpr int64_t kMostActions = 1 << 14;

static Result<Schedule> search(const ScheduleShape &shape,
                               const Generator &self) {
  std::string name = self.name;
  if (!shape.costs)
    return Error{name + " searches by what stages cost, which is not known; "
                        "run pipeline-estimate-cost, or take another schedule"};
  ScheduleProblem problem = *shape.costs;
  problem.microbatches = shape.microbatches;
  int64_t phases = shape.forwardOnly ? 1 : self.splitsBackward ? 3 : 2;
  int64_t actions = phases * problem.numStages();
  if (problem.microbatches > kMostActions / actions)
    return Error{name + " is for up to " + std::to_string(kMostActions) +
                 " actions, got " + std::to_string(problem.microbatches) +
                 " microbatches of " + std::to_string(actions) +
                 " actions; take another schedule"};
  AutoScheduleOptions options;
  options.effort = kEffort;
  options.split = self.splitsBackward;
  Result<AutoSchedule> found = findSchedule(problem, options);
  if (!found)
    return found.error();
  found->schedule.kind = name;
  return std::move(found->schedule);
}

Result<Schedule> generateSearched(const ScheduleShape &shape) {
  return search(shape, searchedGenerator(false));
}

Result<Schedule> generateSearchedZb(const ScheduleShape &shape) {
  return search(shape, searchedGenerator(true));
}

} // namespace stagewright
