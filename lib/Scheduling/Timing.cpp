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

double ScheduleTiming::bubbleRate(Seconds value) const {
  Seconds most;
  for (Seconds rank : work)
    most = std::max(most, rank);
  return value.value > 0 ? (value.value - most.value) / value.value : 0;
}

Seconds durationOf(ActionKind kind, const StageCosts &stage) {
  switch (kind) {
  case ActionKind::Forward:
  case ActionKind::Recompute:
    return stage.forward;
  case ActionKind::Backward:
    return stage.inputGradient + stage.weightGradient;
  case ActionKind::InputGradient:
    return stage.inputGradient;
  case ActionKind::WeightGradient:
    return stage.weightGradient;
  case ActionKind::Update:
    break;
  }
  return Seconds();
}

namespace {

/// Times the actions of a schedule in an order that respects dependences.
class Timer {
public:
  Timer(const Dependences &dependences, const ScheduleProblem &problem)
      : dependences(dependences), problem(problem), ends(dependences.size()),
        free(dependences.numRanks()) {
    timing.work.resize(dependences.numRanks());
    for (int64_t rank = 0; rank < dependences.numRanks(); ++rank)
      timing.times.emplace_back().reserve(dependences.begin(rank + 1) -
                                          dependences.begin(rank));
  }

  ScheduleTiming run(const std::vector<size_t> &order);

private:
  /// When all inputs of action `number` have arrived. A hop takes time if the
  /// two ranks differ, whatever the placement of the problem.
  Seconds ready(size_t number) const;
  void runBlock(size_t first, size_t last);

  const Dependences &dependences;
  const ScheduleProblem &problem;
  std::vector<Seconds> ends; ///< By action.
  std::vector<Seconds> free; ///< By rank.
  ScheduleTiming timing;
};

} // namespace

Seconds Timer::ready(size_t number) const {
  Seconds at;
  int64_t rank = dependences.rank(number),
          stage = dependences.action(number).stage;
  for (const Dependence &wait : dependences.of(number)) {
    Seconds hop;
    if (dependences.rank(wait.on) != rank && wait.edge)
      hop = problem.hops[std::min(stage, dependences.action(wait.on).stage)];
    at = std::max(at, ends[wait.on] + hop);
  }
  return at;
}

/// Times actions `first` to `last` of one rank, which run at the same time.
void Timer::runBlock(size_t first, size_t last) {
  int64_t rank = dependences.rank(first);
  Seconds start = free[rank], length;
  for (size_t n = first; n <= last; ++n) {
    const Action &action = dependences.action(n);
    start = std::max(start, ready(n));
    length += durationOf(action.kind, problem.stages[action.stage]);
  }
  if (last > first)
    length = length * problem.overlap;
  for (size_t n = first; n <= last; ++n) {
    timing.times[rank].push_back({start, start + length});
    ends[n] = start + length;
  }
  timing.work[rank] += length;
  free[rank] = start + length;
}

ScheduleTiming Timer::run(const std::vector<size_t> &order) {
  for (size_t i = 0; i < order.size(); ++i) {
    size_t first = order[i];
    bool pair = problem.overlap > 0 && dependences.blockEnd(first) > first + 1;
    runBlock(first, pair ? first + 1 : first);
    i += pair;
  }
  Seconds begin(std::numeric_limits<double>::infinity()), end;
  for (size_t rank = 0; rank < timing.times.size(); ++rank) {
    if (timing.times[rank].empty())
      continue;
    Seconds first = timing.times[rank].front().first;
    begin = std::min(begin, first);
    end = std::max(end, free[rank]);
    timing.span = std::max(timing.span, free[rank] - first);
  }
  timing.makespan = std::max(Seconds(), end - begin);
  return std::move(timing);
}

Result<ScheduleTiming> timeSchedule(const Schedule &schedule,
                                    const ScheduleProblem &problem) {
  if (Status status = problem.check(); !status)
    return status.error();
  if (Status status = checkSize(schedule, problem); !status)
    return status.error();
  StageGraph graph = chainGraph(problem.numStages(), problem.forwardOnly);
  Result<Dependences> dependences = Dependences::create(schedule, graph);
  if (!dependences)
    return dependences.error();
  std::vector<size_t> order = dependences->executionOrder();
  if (order.size() != dependences->size())
    return verify(schedule, graph).error();
  ScheduleTiming timing = Timer(*dependences, problem).run(order);
  for (const MemoryPeak &peak : memoryPeaks(schedule, problem))
    timing.peaks.push_back(peak.value);
  return timing;
}

} // namespace stagewright
