//===- Simulate.h - simulated times of a schedule ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exact start and end of every action, given its duration: the longest path in
// the graph of Dependences.h. A rank runs one action at a time; a transfer is a
// delay between the end of the producer and the start of the use, and occupies
// no resource (the hop model of the zero-bubble paper's public simulator).
// Shared links are not modelled.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_SIMULATE_H
#define STAGEWRIGHT_SIMULATION_SIMULATE_H

#include "stagewright/Scheduling/StageGraph.h"
#include "stagewright/Support/Units.h"
#include <functional>

namespace stagewright {

/// The times of one microbatch on one stage.
struct StageTimes {
  Seconds forward, inputGradient, weightGradient;

  /// The time of an action of `kind`: B is the sum of I and W, R is F.
  Seconds of(ActionKind kind) const;
  Seconds total() const { return forward + inputGradient + weightGradient; }
};

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

/// An action with its time.
struct TimedAction {
  Action action;
  Seconds start, end;
};

/// The simulated step.
struct Timeline {
  std::vector<std::vector<TimedAction>> ranks;
  /// From the first start to the last end on any rank.
  Seconds makespan;
};

/// Simulates `schedule`; fails if verify() fails.
Result<Timeline> simulate(const Schedule &schedule, const StageGraph &graph,
                          const StepTimes &times);

/// Equal stages: F, I and W take one second each, transfers no time.
StepTimes unitTimes(int64_t stages);

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_SIMULATE_H
