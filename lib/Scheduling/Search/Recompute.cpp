//===- Recompute.cpp - fitting orders into memory by recomputation --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Recompute.h"
#include "stagewright/Scheduling/Memory.h"
#include "stagewright/Scheduling/StageGraph.h"
#include <algorithm>
#include <deque>
#include <map>

namespace stagewright::search {

namespace {

/// Rewrites the order of one rank.
class Fitter {
public:
  Fitter(const Order &order, const ScheduleProblem &problem, bool weightsFirst)
      : order(order), problem(problem), weightsFirst(weightsFirst),
        limit(problem.memory * (1 + 1e-9)) {}

  std::optional<Order> run();

private:
  using Key = std::pair<int64_t, int64_t>; ///< Stage and microbatch.

  const StageCosts &costs(int64_t stage) const { return problem.stages[stage]; }
  double saved(int64_t stage) const {
    return costs(stage).activation - costs(stage).recomputeInput;
  }
  bool makeRoom(double need, const Key &current);
  bool runWeight();
  bool giveUp(const Key &current);
  bool append(const Action &action);

  const Order &order;
  const ScheduleProblem &problem;
  bool weightsFirst;
  double limit;
  double held = 0;
  std::map<Key, size_t> backwardAt; ///< Index of the backward, if in flight.
  std::map<Key, size_t> backwards;  ///< Index of the backward, for all.
  std::map<Key, bool> recomputed;
  std::deque<Key> weights; ///< I has run, W has not.
  Order result;
};

} // namespace

bool Fitter::runWeight() {
  if (weights.empty())
    return false;
  auto [stage, microbatch] = weights.front();
  weights.pop_front();
  held -= costs(stage).kept;
  result.push_back({ActionKind::WeightGradient, stage, microbatch});
  return true;
}

/// Frees the activations of the microbatch whose backward runs last; an R will
/// compute them again.
bool Fitter::giveUp(const Key &current) {
  const std::pair<const Key, size_t> *last = nullptr;
  for (const auto &entry : backwardAt)
    if (entry.first != current && !recomputed[entry.first] &&
        saved(entry.first.first) > 0 && (!last || entry.second > last->second))
      last = &entry;
  if (!last)
    return false;
  recomputed[last->first] = true;
  held -= saved(last->first.first);
  return true;
}

bool Fitter::makeRoom(double need, const Key &current) {
  while (held + need > limit)
    if (!(weightsFirst && runWeight()) && !giveUp(current) && !runWeight())
      return false;
  return true;
}

bool Fitter::append(const Action &action) {
  Key key = {action.stage, action.microbatch};
  const StageCosts &stage = costs(action.stage);
  if (action.kind == ActionKind::Forward) {
    if (!makeRoom(stage.activation, key))
      return false;
    held += stage.activation;
    backwardAt[key] = backwards[key];
  } else if (action.kind == ActionKind::WeightGradient) {
    auto waiting = std::find(weights.begin(), weights.end(), key);
    if (waiting == weights.end())
      return true; // It has run early.
    weights.erase(waiting);
    held -= stage.kept;
  } else if (runsPhase(action.kind, ActionKind::InputGradient)) {
    if (recomputed[key]) {
      if (!makeRoom(saved(action.stage), key))
        return false;
      held += saved(action.stage);
      result.push_back({ActionKind::Recompute, key.first, key.second});
    }
    backwardAt.erase(key);
    held -= stage.activation;
    if (action.kind == ActionKind::InputGradient) {
      held += stage.kept;
      weights.push_back(key);
    }
  }
  result.push_back(action);
  result.back().paired = false;
  return true;
}

std::optional<Order> Fitter::run() {
  for (size_t at = 0; at < order.size(); ++at)
    if (runsPhase(order[at].kind, ActionKind::InputGradient))
      backwards[{order[at].stage, order[at].microbatch}] = at;
  for (const Action &action : order)
    if (!append(action))
      return std::nullopt;
  return std::move(result);
}

std::optional<Schedule> addRecompute(const Schedule &schedule,
                                     const ScheduleProblem &problem,
                                     bool weightsFirst) {
  Schedule fitting{schedule.kind, schedule.stages, schedule.microbatches, {}};
  for (const Order &order : schedule.ranks) {
    std::optional<Order> fitted = Fitter(order, problem, weightsFirst).run();
    if (!fitted)
      return std::nullopt;
    fitting.ranks.push_back(std::move(*fitted));
  }
  return fitting;
}

Schedule oneByOne(const ScheduleProblem &problem, bool split) {
  Schedule schedule{"one-by-one", problem.numStages(), problem.microbatches,
                    std::vector<Order>(problem.ranks)};
  using enum ActionKind;
  for (int64_t m = 0; m < problem.microbatches; ++m) {
    for (int64_t s = 0; s < schedule.stages; ++s)
      schedule.ranks[problem.rankOf(s)].push_back({Forward, s, m});
    for (int64_t s = schedule.stages; s-- > 0 && !problem.forwardOnly;) {
      Order &order = schedule.ranks[problem.rankOf(s)];
      order.push_back({split ? InputGradient : Backward, s, m});
      if (split)
        order.push_back({WeightGradient, s, m});
    }
  }
  return schedule;
}

} // namespace stagewright::search
