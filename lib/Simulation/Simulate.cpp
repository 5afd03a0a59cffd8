//===- Simulate.cpp - simulated times of a schedule -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/Simulate.h"
#include "stagewright/Scheduling/Dependences.h"
#include "stagewright/Scheduling/Verify.h"
#include <algorithm>

namespace stagewright {

Seconds StageTimes::of(ActionKind kind) const {
  switch (kind) {
  case ActionKind::Forward:
  case ActionKind::Recompute:
    return forward;
  case ActionKind::Backward:
    return inputGradient + weightGradient;
  case ActionKind::InputGradient:
    return inputGradient;
  case ActionKind::WeightGradient:
    return weightGradient;
  case ActionKind::Update:
    return Seconds();
  }
  return Seconds();
}

StepTimes unitTimes(int64_t stages) {
  return {std::vector<StageTimes>(stages, {Seconds(1), Seconds(1), Seconds(1)}),
          {},
          {}};
}

Result<Timeline> simulate(const Schedule &schedule, const StageGraph &graph,
                          const StepTimes &times) {
  Result<Dependences> dependences = Dependences::create(schedule, graph);
  if (!dependences)
    return dependences.error();
  std::vector<size_t> order = dependences->executionOrder();
  if (order.size() != dependences->size())
    return verify(schedule, graph).error();

  Timeline timeline;
  timeline.ranks.resize(schedule.ranks.size());
  std::vector<Seconds> ends(dependences->size());
  for (size_t number : order) {
    const Action &action = dependences->action(number);
    std::vector<TimedAction> &rank = timeline.ranks[dependences->rank(number)];
    Seconds start = rank.empty() ? Seconds() : rank.back().end;
    for (const Dependence &wait : dependences->of(number)) {
      Seconds hop;
      if (wait.edge && !wait.slot && !times.hops.empty())
        hop = times.hops[wait.edge - graph.edges.data()];
      start = std::max(start, ends[wait.on] + hop);
    }
    ends[number] = start + times.of(action, dependences->rank(number));
    rank.push_back({action, start, ends[number]});
    timeline.makespan = std::max(timeline.makespan, ends[number]);
  }
  return timeline;
}

} // namespace stagewright
