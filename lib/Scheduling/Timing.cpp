//===- Timing.cpp - times and memory of a schedule ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Timing.h"
#include "stagewright/Scheduling/Dependences.h"
#include "stagewright/Scheduling/Memory.h"
#include "stagewright/Scheduling/Verify.h"
#include <algorithm>
#include <limits>

namespace stagewright {

void Timeline::measure() {
  Seconds begin(std::numeric_limits<double>::infinity()), end;
  span = Seconds();
  for (const std::vector<TimedAction> &rank : ranks) {
    if (rank.empty())
      continue;
    begin = std::min(begin, rank.front().start);
    end = std::max(end, rank.back().end);
    span = std::max(span, rank.back().end - rank.front().start);
  }
  makespan = std::max(Seconds(), end - begin);
}

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
    break;
  }
  return Seconds();
}

StepTimes unitTimes(int64_t stages) {
  return {std::vector<StageTimes>(stages, {Seconds(1), Seconds(1), Seconds(1)}),
          {},
          {}};
}

/// Times the actions of `schedule` in an order that respects dependences.
/// `durationOf` returns the time of an action on a rank, `hopOf(dependences,
/// number, wait)` the delay of `wait`, a dependence of action `number`.
template <typename DurationOf, typename HopOf>
static Result<Timeline> run(const Schedule &schedule, const StageGraph &graph,
                            double overlap, DurationOf durationOf,
                            HopOf hopOf) {
  Result<Dependences> created = Dependences::create(schedule, graph);
  if (!created)
    return created.error();
  const Dependences &dependences = *created;
  std::vector<size_t> order = dependences.executionOrder();
  if (order.size() != dependences.size())
    return verify(schedule, graph).error();
  Timeline timeline;
  timeline.work.resize(schedule.ranks.size());
  for (const Order &actions : schedule.ranks)
    timeline.ranks.emplace_back().reserve(actions.size());
  std::vector<Seconds> ends(dependences.size()); // By action.
  for (size_t i = 0; i < order.size();) {
    size_t first = order[i], end = first + 1;
    if (overlap > 0)
      end = dependences.blockEnd(first);
    int64_t rank = dependences.rank(first);
    std::vector<TimedAction> &actions = timeline.ranks[rank];
    Seconds start = actions.empty() ? Seconds() : actions.back().end, length;
    for (size_t n = first; n < end; ++n) {
      Seconds ready;
      for (const Dependence &wait : dependences.of(n))
        ready = std::max(ready, ends[wait.on] + hopOf(dependences, n, wait));
      start = std::max(start, ready);
      length += durationOf(dependences.action(n), rank);
    }
    if (end > first + 1)
      length = length * overlap;
    for (size_t n = first; n < end; ++n) {
      actions.push_back({dependences.action(n), start, start + length});
      ends[n] = start + length;
    }
    timeline.work[rank] += length;
    i += end - first;
  }
  timeline.measure();
  return timeline;
}

Result<Timeline> timeSchedule(const Schedule &schedule,
                              const ScheduleProblem &problem) {
  if (Status status = problem.check(); !status)
    return status.error();
  if (Status status = checkSize(schedule, problem); !status)
    return status.error();
  // A hop takes time if the two ranks differ, whatever the placement of the
  // problem.
  Result<Timeline> timeline = run(
      schedule, chainGraph(problem.numStages(), problem.forwardOnly),
      problem.overlap,
      [&](const Action &action, int64_t) {
        return problem.stages[action.stage].times().of(action.kind);
      },
      [&](const Dependences &all, size_t number, const Dependence &wait) {
        if (all.rank(wait.on) == all.rank(number) || !wait.edge)
          return Seconds();
        return problem.hops[std::min(all.action(number).stage,
                                     all.action(wait.on).stage)];
      });
  if (timeline)
    for (const MemoryPeak &peak : memoryPeaks(schedule, problem))
      timeline->peaks.push_back(peak.value);
  return timeline;
}

Result<Timeline> timeSchedule(const Schedule &schedule, const StageGraph &graph,
                              const StepTimes &times) {
  return run(
      schedule, graph, /*overlap=*/0,
      [&](const Action &action, int64_t rank) {
        return times.of(action, rank);
      },
      [&](const Dependences &, size_t, const Dependence &wait) {
        bool hops = wait.edge && !wait.slot && !times.hops.empty();
        return hops ? times.hops[wait.edge - graph.edges.data()] : Seconds();
      });
}

} // namespace stagewright
