//===- UnitProblem.h - equal stages for tests -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_UNIT_SCHEDULING_UNITPROBLEM_H
#define STAGEWRIGHT_UNIT_SCHEDULING_UNITPROBLEM_H

#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/ScheduleProblem.h"

namespace stagewright {

/// Times of one stage and of a hop.
struct EqualTimes {
  double forward = 1, inputGradient = 1, weightGradient = 1, hop = 0;
};

/// Stages with equal times that hold one activation per microbatch from F to W.
inline ScheduleProblem equalStages(Placement placement,
                                   const ScheduleShape &shape,
                                   const EqualTimes &times = {}) {
  ScheduleProblem problem;
  problem.placement = placement;
  problem.ranks = shape.ranks;
  problem.chunks = shape.chunks;
  problem.spare = shape.spare;
  problem.microbatches = shape.microbatches;
  problem.forwardOnly = shape.forwardOnly;
  problem.stages.assign(problem.numStages(),
                        {Seconds(times.forward), Seconds(times.inputGradient),
                         Seconds(times.weightGradient), 1, 1, 0});
  problem.hops.assign(problem.numStages() - 1, Seconds(times.hop));
  return problem;
}

} // namespace stagewright

#endif // STAGEWRIGHT_UNIT_SCHEDULING_UNITPROBLEM_H
