//===- RecomputeSearch.cpp - search for orders with recomputation ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Chain/Settings.h"
#include "Search/Chunks/VSearch.h"
#include "Search/Recompute.h"
#include "Search/Seeds.h"
#include "stagewright/Scheduling/Memory.h"
#include <algorithm>

namespace stagewright::search {

namespace {

/// The memory that a rank holds after each action of an order.
std::vector<double> heldAfter(const Order &order,
                              const ScheduleProblem &problem,
                              const std::vector<bool> &recomputed) {
  std::vector<double> held;
  double now = 0;
  for (const Action &action : order) {
    MemoryChange change = memoryChange(
        action, problem.stages[action.stage],
        recomputed[action.stage * problem.microbatches + action.microbatch],
        problem.forwardOnly);
    now += change.taken - change.freed;
    held.push_back(now);
  }
  return held;
}

} // namespace

Schedule advanceRecompute(const Schedule &schedule, const Timeline &timing,
                          const ScheduleProblem &problem, int64_t rank) {
  Schedule advanced = schedule;
  Order &order = advanced.ranks[rank];
  std::vector<TimedAction> times = timing.ranks[rank];
  std::vector<bool> recomputed(schedule.stages * schedule.microbatches);
  for (const Action &action : order)
    if (action.kind == ActionKind::Recompute)
      recomputed[action.stage * schedule.microbatches + action.microbatch] =
          true;
  for (size_t at = 1; at < order.size(); ++at) {
    Action action = order[at];
    if (action.kind != ActionKind::Recompute)
      continue;
    const StageCosts &costs = problem.stages[action.stage];
    double more = costs.activation - costs.recomputeInput;
    std::vector<double> held = heldAfter(order, problem, recomputed);
    // An action may take memory at its start that it frees at its end.
    size_t to = at;
    for (size_t k = at; k-- > 1;) {
      double peak = std::max(
          held[k],
          held[k - 1] + memoryChange(order[k], problem.stages[order[k].stage],
                                     false, problem.forwardOnly)
                            .taken);
      if (peak + more > problem.memory * (1 + 1e-9) ||
          (order[k].stage == action.stage &&
           order[k].microbatch == action.microbatch))
        break;
      if ((times[k].start - times[k - 1].end).value >=
          0.5 * costs.forward.value)
        to = k;
    }
    if (to == at)
      continue;
    std::rotate(order.begin() + to, order.begin() + at, order.begin() + at + 1);
    // The gap counts as filled, even if the R is shorter.
    std::rotate(times.begin() + to, times.begin() + at, times.begin() + at + 1);
    Seconds start = times[to - 1].end;
    times[to] = {action, start,
                 std::max(start + costs.forward, times[to + 1].start)};
  }
  return advanced;
}

/// Makes `schedule` fit the memory and offers it; if it is the best, also moves
/// its R to idle times.
static void offerFitting(const Schedule &schedule,
                         const ScheduleProblem &problem, Best &best) {
  for (bool weightsFirst : {true, false}) {
    std::optional<Schedule> fitting =
        addRecompute(schedule, problem, weightsFirst);
    if (!fitting ||
        !best.offer(*fitting, schedule.kind + " with recomputation"))
      continue;
    for (int64_t rank = 0; rank < problem.ranks && !best.meetsBound(); ++rank)
      best.offer(advanceRecompute(best.schedule, best.timing, problem, rank),
                 best.origin);
  }
}

void searchRecompute(const ScheduleProblem &problem, Best &best) {
  offerFitting(oneByOne(problem, best.options.split), problem, best);
  for (const Schedule &seed : seedsFor(problem, best.options.split))
    offerFitting(seed, problem, best);
  bool chain = problem.chunks == 1;
  if (problem.placement == Placement::Twin ||
      (!chain && problem.placement == Placement::Linear))
    return;
  // Search with more memory than there is, also with backwards lengthened by
  // the forward that a recomputation would add.
  AutoScheduleOptions plain = best.options;
  plain.progress = nullptr;
  for (double factor : {1.25, 1.5, 2.0, 3.0, 4.0, 8.0})
    for (bool longer : {false, true}) {
      if (best.meetsBound())
        return;
      ScheduleProblem larger = problem;
      larger.memory *= factor;
      for (StageCosts &stage : larger.stages)
        if (longer)
          stage.inputGradient += stage.forward;
      Best ample(larger, best.bounds, plain);
      FastProblem fast = FastProblem::of(larger, plain.split);
      if (chain)
        searchSettings(fast, ample, int64_t(plain.effort * 2e6));
      else
        searchChunks(fast, ample, int64_t(plain.effort * 2e6));
      if (ample.found())
        offerFitting(ample.schedule, problem, best);
    }
}

} // namespace stagewright::search
