//===- Exact.cpp - exact search for the best schedule ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Chain/Exact.h"
#include "Search/Chain/ExactTree.h"
#include <algorithm>
#include <limits>

namespace stagewright::search {

using namespace bounds;

namespace {

class Exact {
public:
  Exact(const ScheduleProblem &problem, ScheduleObjective objective,
        Seconds incumbent, int64_t nodeLimit)
      : chain(problem), high(incumbent.value), nodesLeft(nodeLimit) {
    window = {0, 0, objective == ScheduleObjective::Makespan, true};
    // Running one microbatch after another takes no longer than this.
    double each = chain.around(0, 0) + chain.inputTime(0);
    for (int64_t rank = 0; rank < problem.ranks; ++rank)
      each += chain.weightTime(rank);
    high = std::min(high, double(problem.microbatches) * each);
  }

  /// Searches for a schedule whose objective is at most `value`.
  TreeResult attempt(double value, int64_t nodes);
  void run(double low);

  Chain chain;
  Window window;
  double high; ///< The best value known.
  int64_t nodesLeft;
  std::optional<Schedule> best;
  bool proved = false;
};

} // namespace

TreeResult Exact::attempt(double value, int64_t nodes) {
  // A wrong choice near the root wastes all work below it, so short searches
  // with each preference come before longer ones.
  using enum ExactTree::Preference;
  ExactTree tree(chain, window, value);
  nodes = std::min(nodes, nodesLeft);
  TreeResult result = TreeResult::Limit;
  for (int64_t limit = 4 * tree.actions();
       result == TreeResult::Limit && tree.nodes() < nodes; limit *= 8)
    for (auto preference : {Slack, InputFirst, ForwardFirst, Deadline, Start}) {
      result = tree.search(std::min(limit, nodes - tree.nodes()), preference);
      if (result != TreeResult::Limit)
        break;
    }
  nodesLeft -= tree.nodes();
  if (result == TreeResult::Found) {
    best = tree.schedule();
    high = tree.value();
  }
  return result;
}

void Exact::run(double low) {
  constexpr double kRounding = 1e-9;
  auto done = [&] { return high <= low * (1 + kRounding); };
  int64_t share = nodesLeft / 4;
  TreeResult result =
      done() ? TreeResult::Found : attempt(low * (1 + kRounding / 2), share);
  // Bisection: a refuted value raises `low`, a found one lowers `high`; if the
  // search reaches its node limit, only `open` rises, without a proof.
  double open = low;
  if (result == TreeResult::Limit)
    low = -1;
  while (!done() && nodesLeft > 0) {
    bool last = high - open <= 1e-3 * high;
    double value = last ? high * (1 - kRounding / 2) : (open + high) / 2;
    result = attempt(value, last ? nodesLeft : share);
    if (result == TreeResult::None)
      low = open = value;
    if (result == TreeResult::Limit && last)
      return;
    if (result == TreeResult::Limit)
      open = value;
  }
  proved = done();
}

/// Whether the tables take at most 16 MB, and building them a fraction of a
/// second.
static bool isSmallEnough(const ScheduleProblem &problem) {
  double states = 0;
  for (const StageCosts &stage : problem.stages)
    states += Walk(stage, problem.microbatches, problem.memory, 0).numStates();
  return states <= 1e6;
}

ExactResult exactSchedule(const ScheduleProblem &given,
                          ScheduleObjective objective, Seconds bound,
                          Seconds incumbent, int64_t nodeLimit, bool split) {
  ScheduleProblem problem = given;
  for (StageCosts &stage : problem.stages) {
    if (split)
      continue;
    stage.inputGradient += stage.weightGradient;
    stage.weightGradient = Seconds();
    stage.kept = 0;
  }
  if (!isSmallEnough(problem))
    return {};
  Exact exact(problem, objective, incumbent, nodeLimit);
  // The window is eager, so this bounds the spans of all ranks at once.
  double effort = 1e7;
  double low = refuteByCounting(exact.chain, exact.window, bound.value, effort);
  exact.run(low);
  if (exact.best && !split)
    for (Order &order : exact.best->ranks) {
      std::erase_if(order, [](const Action &action) {
        return action.kind == ActionKind::WeightGradient;
      });
      for (Action &action : order)
        if (action.kind == ActionKind::InputGradient)
          action.kind = ActionKind::Backward;
    }
  return {std::move(exact.best), exact.proved, nodeLimit - exact.nodesLeft};
}

bool searchExactly(Best &best, int64_t nodeLimit) {
  const ScheduleProblem &problem = best.problem;
  if (problem.placement == Placement::Twin || problem.chunks != 1 ||
      problem.forwardOnly || problem.overlap > 0)
    return false;
  Seconds incumbent = best.found()
                          ? best.value().first
                          : Seconds(std::numeric_limits<double>::infinity());
  // One choice takes time linear in the ranks, and beyond about 8 ranks and 64
  // microbatches the search rarely finishes.
  constexpr int64_t kActions = 1536;
  int64_t actions = 3 * problem.ranks * problem.microbatches;
  nodeLimit = std::min(nodeLimit, nodeLimit * kActions / actions);
  nodeLimit = nodeLimit * 8 / std::max<int64_t>(8, problem.ranks);
  ExactResult result =
      exactSchedule(problem, best.options.objective, best.bound(), incumbent,
                    nodeLimit, best.options.split);
  if (result.schedule)
    best.offer(*result.schedule, "exact");
  // The search does not consider recomputation, so with it nothing is proved.
  return result.proved && best.found() && !best.options.recompute;
}

} // namespace stagewright::search
