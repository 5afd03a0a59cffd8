//===- Memory.cpp - memory held by a schedule -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Memory.h"
#include "OrderGrid.h"
#include "stagewright/Support/Printed.h"
#include <algorithm>
#include <functional>
#include <utility>

namespace stagewright {

MemoryChange memoryChange(const Action &action, const StageCosts &costs,
                          bool recomputed, bool forwardOnly) {
  switch (action.kind) {
  case ActionKind::Forward:
    if (forwardOnly)
      return {costs.activation, costs.activation};
    return {costs.activation,
            recomputed ? costs.activation - costs.recomputeInput : 0};
  case ActionKind::Recompute:
    return {costs.activation - costs.recomputeInput, 0};
  case ActionKind::InputGradient:
    return {0, costs.activation - costs.kept};
  case ActionKind::WeightGradient:
    return {0, costs.kept};
  case ActionKind::Backward:
    return {0, costs.activation};
  case ActionKind::Update:
    break;
  }
  return {};
}

/// Calls `held(rank, step, amount)` for each action, with the memory held after
/// its start.
static void walk(const Schedule &schedule, const ScheduleProblem &problem,
                 const std::function<void(size_t, size_t, double)> &held) {
  std::vector<bool> recomputed(schedule.stages * schedule.microbatches);
  auto index = [&](const Action &action) {
    return action.stage * schedule.microbatches + action.microbatch;
  };
  for (const Order &order : schedule.ranks)
    for (const Action &action : order)
      if (action.kind == ActionKind::Recompute)
        recomputed[index(action)] = true;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    const Order &order = schedule.ranks[rank];
    double now = 0, freed = 0;
    for (size_t step = 0; step < order.size(); ++step) {
      MemoryChange change =
          memoryChange(order[step], problem.stages[order[step].stage],
                       recomputed[index(order[step])], problem.forwardOnly);
      // The second of a pair starts before the first has freed its memory.
      if (!order[step].paired)
        now -= std::exchange(freed, 0);
      now += change.taken;
      freed += change.freed;
      held(rank, step, now);
    }
  }
}

std::vector<MemoryPeak> memoryPeaks(const Schedule &schedule,
                                    const ScheduleProblem &problem) {
  std::vector<MemoryPeak> peaks(schedule.ranks.size());
  walk(schedule, problem, [&](size_t rank, size_t step, double amount) {
    if (amount > peaks[rank].value)
      peaks[rank] = {amount, step};
  });
  return peaks;
}

static std::string textOf(double amount) { return printed("%.6g", amount); }

Status verifyMemory(const Schedule &schedule, const ScheduleProblem &problem) {
  // One pass finds both the first action above the limit and the peak.
  double limit = problem.memory * (1 + 1e-9), most = 0, over = 0;
  OrderMark first;
  walk(schedule, problem, [&](size_t rank, size_t step, double amount) {
    most = std::max(most, amount);
    if (amount > limit && over == 0) {
      over = amount;
      first = {int64_t(rank), step};
    }
  });
  if (most <= limit)
    return {};
  return errorAt(
      "rank " + std::to_string(first.rank) + " holds " + textOf(over) + " as " +
          toString(schedule.ranks[first.rank][first.step]) + " starts (step " +
          std::to_string(first.step) + "), " + textOf(over - problem.memory) +
          " more than its memory of " + textOf(problem.memory) +
          "; this order needs " + textOf(most),
      schedule, {first});
}

} // namespace stagewright
