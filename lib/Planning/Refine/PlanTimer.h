//===- PlanTimer.h - the time of many plans ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: evaluate() for searches over many plans. It computes
// only the time, and only if that is below a cutoff. A plan whose lower bound
// reaches the cutoff is not simulated.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PLANTIMER_H
#define STAGEWRIGHT_PLANNING_PLANTIMER_H

#include "FitLevels.h"
#include "stagewright/Planning/Evaluate.h"

namespace stagewright {

class PlanTimer {
public:
  PlanTimer(const Problem &problem, const Network &network)
      : problem(problem), network(network), curve(problem) {}

  /// Min time of `plan` over the allowed orders that fit in memory, if it is
  /// below `cutoff`; infinite otherwise. Sets the order, what pipelineOf()
  /// fills in, and the levels and offloaded layers. `plan` must have every
  /// layer once.
  Seconds timeOf(Plan &plan, Seconds cutoff);

  int64_t evaluations() const { return numEvaluations; } ///< Simulated plans.
  /// Measure of work: blocks of compute and transfers simulated, plus layers
  /// and values visited, over all plans and orders.
  int64_t work() const { return numBlocks; }

private:
  bool fits(const Plan &plan, ExecutionOrder order) const;

  const Problem &problem;
  const Network &network;
  LevelCurve curve;
  PipelineSimulator simulator;
  int64_t numEvaluations = 0, numBlocks = 0;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PLANTIMER_H
