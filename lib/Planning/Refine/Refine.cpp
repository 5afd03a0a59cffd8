//===- Refine.cpp - local moves on top of any plan ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Refine/PlanTimer.h"
#include "Refine/RefineMoves.h"
#include "stagewright/Planning/Planners.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace stagewright {

/// Min relative gain of a move: more than rounding errors, and enough to
/// matter.
static constexpr double kLeastGain = 1e-6;
/// Max time, relative to the best, of a plan that gets a second move.
static constexpr double kMostLoss = 1.3;

namespace {
class Refiner {
public:
  Refiner(const Problem &problem, const Network &network,
          const RefineOptions &options)
      : problem(problem), options(options), timer(problem, network),
        maker(problem) {}

  /// Improves `plan` until no move helps or the allowed work is used up.
  void run(Plan &plan);

  int64_t evaluations() const { return timer.evaluations(); }
  const std::vector<std::string> &accepted() const { return taken; }

private:
  /// A plan, its time, and the moves that made it.
  struct Timed {
    Plan plan;
    Seconds time;
    std::string what;
  };

  bool isTired() const { return timer.work() >= options.work; }
  std::vector<size_t> stagesByLoad(const Plan &plan) const;
  Timed after(const Plan &plan, Move &move, Seconds cutoff);
  bool improveOnce(Timed &best, bool onlyLayers);
  bool improveByTwo(Timed &best);

  const Problem &problem;
  RefineOptions options;
  PlanTimer timer;
  MoveMaker maker;
  std::vector<std::string> taken;
};
} // namespace

/// Stages by decreasing load.
std::vector<size_t> Refiner::stagesByLoad(const Plan &plan) const {
  std::vector<size_t> order(plan.stages.size());
  std::iota(order.begin(), order.end(), 0);
  auto load = [&](size_t s) {
    return double(problem.microbatches) * plan.stages[s].times.total().value +
           plan.stages[s].tail.value;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return load(a) > load(b); });
  return order;
}

Refiner::Timed Refiner::after(const Plan &plan, Move &move, Seconds cutoff) {
  Timed next = {plan, Seconds(), std::move(move.what)};
  next.plan.stages = std::move(move.stages);
  next.time = timer.timeOf(next.plan, cutoff);
  return next;
}

/// Takes the best move of the most loaded stage that has a move which helps.
bool Refiner::improveOnce(Timed &best, bool onlyLayers) {
  for (size_t s : stagesByLoad(best.plan)) {
    std::vector<Move> moves = maker.layers(best.plan.stages, s);
    if (!onlyLayers)
      for (Move &move : maker.others(best.plan.stages, s))
        moves.push_back(std::move(move));
    std::optional<Timed> found;
    Seconds cutoff = best.time * (1 - kLeastGain);
    for (Move &move : moves) {
      if (isTired())
        break;
      Timed next = after(best.plan, move, cutoff);
      if (next.time < cutoff) {
        cutoff = next.time;
        found = std::move(next);
      }
    }
    if (found) {
      best = std::move(*found);
      return true;
    }
    if (isTired())
      return false;
  }
  return false;
}

/// A move of devices or stages seldom helps before layers are moved too: takes
/// the few best ones, even if slightly slower, and moves layers after each.
bool Refiner::improveByTwo(Timed &best) {
  std::vector<Timed> promising;
  Seconds cutoff = best.time * kMostLoss;
  for (size_t s : stagesByLoad(best.plan))
    for (Move &move : maker.others(best.plan.stages, s)) {
      if (isTired())
        break;
      Timed next = after(best.plan, move, cutoff);
      if (next.time < cutoff)
        promising.push_back(std::move(next));
    }
  std::stable_sort(
      promising.begin(), promising.end(),
      [](const Timed &a, const Timed &b) { return a.time < b.time; });
  if (promising.size() > options.secondMoves)
    promising.resize(options.secondMoves);
  for (Timed &next : promising) {
    std::string what = next.what;
    while (!isTired() && improveOnce(next, /*onlyLayers=*/true))
      what += ", then " + next.what;
    if (next.time < best.time * (1 - kLeastGain)) {
      best = std::move(next);
      best.what = std::move(what);
      return true;
    }
  }
  return false;
}

void Refiner::run(Plan &plan) {
  Timed best = {plan, Seconds(), {}};
  best.time =
      timer.timeOf(best.plan, Seconds(std::numeric_limits<double>::infinity()));
  while (!isTired() &&
         (improveOnce(best, /*onlyLayers=*/false) || improveByTwo(best)))
    taken.push_back(toString(best.time) + ": " + best.what);
  if (!taken.empty())
    plan.stages = std::move(best.plan.stages);
}

Result<Plan> refine(const Problem &problem, const Network &network,
                    const Plan &start, const RefineOptions &options) {
  Plan before = start;
  bool hasWays = std::any_of(
      start.stages.begin(), start.stages.end(), [](const StagePlan &stage) {
        return stage.ways > 1 || !stage.alternatives.empty();
      });
  if (hasWays)
    return Error{"plan of '" + start.planner +
                 "' chooses among alternatives of its layers, which refine "
                 "does not; start from another planner"};
  if (Status status = evaluate(problem, network, before); !status)
    return status.error();
  Plan after = before;
  Refiner refiner(problem, network, options);
  refiner.run(after);
  if (Status status = evaluate(problem, network, after);
      !status || after.time > before.time)
    after = before;
  after.planner = "refine";
  after.objective = "time";
  after.value = after.time.value;
  after.explanation.push_back(
      "refined the plan of '" + start.planner + "' of " +
      toString(before.time) + " by " +
      std::to_string(refiner.accepted().size()) + " moves, " +
      std::to_string(refiner.evaluations()) + " plans simulated");
  for (const std::string &move : refiner.accepted())
    after.explanation.push_back(move);
  return after;
}

Result<Plan> refineFrom(Result<Plan> (*start)(const Problem &),
                        const Problem &problem) {
  if (Status status = problem.check(); !status)
    return status.error();
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  Result<Plan> plan = start(problem);
  if (!plan)
    return plan;
  return refine(problem, *network, *plan);
}

Result<Plan> planRefine(const Problem &problem) {
  return refineFrom(planSpp, problem);
}

} // namespace stagewright
