//===- Simulate.h - how long a schedule takes -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exact start and end of every action, given what each takes: the longest path
// in the graph of Dependences.h. A rank runs one action at a time; a transfer
// is a delay between the end of the producer and the start of the use, and
// occupies nobody (the hop model of the zero-bubble paper's public simulator).
// Shared links are not modelled.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_SIMULATE_H
#define STAGEWRIGHT_SIMULATION_SIMULATE_H

#include "stagewright/Scheduling/StageGraph.h"
#include "stagewright/Support/Units.h"

namespace stagewright {

/// What one microbatch costs on one stage.
struct StageTimes {
  Seconds forward, inputGradient, weightGradient;

  /// What an action of `kind` takes: B the sum of I and W, R a forward.
  Seconds of(ActionKind kind) const;
  Seconds total() const { return forward + inputGradient + weightGradient; }
};

/// Times for a schedule's stages and its graph's edges.
struct StepTimes {
  std::vector<StageTimes> stages;
  std::vector<Seconds> hops; ///< Per edge of the graph; empty: none take time.
};

/// An action with its time.
struct TimedAction {
  Action action;
  Seconds start, end;
};

/// The simulated step.
struct Timeline {
  std::vector<std::vector<TimedAction>> ranks;
  /// From the first start to the last end anywhere.
  Seconds makespan;
};

/// Simulates `schedule`; fails where verify() fails.
Result<Timeline> simulate(const Schedule &schedule, const StageGraph &graph,
                          const StepTimes &times);

/// Equal stages: F, I and W take one second each, transfers none.
StepTimes unitTimes(int64_t stages);

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_SIMULATE_H
