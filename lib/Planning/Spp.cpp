//===- Spp.cpp - the default planner --------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lists of devices x plans of the dynamic program, by increasing lower bound;
// each is simulated in every execution order until no bound is below the best
// time. docs/planner.md says how far from the best plan that can be.
//
//===----------------------------------------------------------------------===//

#include "Spp.h"
#include "DapplePlans.h"
#include "SppCandidates.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Planning/DeviceOrder.h"
#include "stagewright/Planning/Planners.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

namespace stagewright {

/// Most plans simulated; bounds are close enough that few are.
static constexpr size_t kMostSimulated = 256;

/// How often the search is repeated around the best plan.
static constexpr int kRounds = 5;

/// Inner steps of one run on one list of devices.
static double stepsOf(const Problem &problem) {
  double devices = double(problem.cluster.devices.size());
  return double(problem.layers.size()) * devices * devices * devices *
         (devices / 24 + 2);
}

/// The lists of devices to search: on small clusters all that are worth it, on
/// larger ones RDO's, its reverse, and those that promise most; only the first
/// two where one run takes long.
static std::vector<std::vector<size_t>> chooseOrders(const Problem &problem,
                                                     const Network &network) {
  size_t looked = size_t(std::clamp(1e8 / stepsOf(problem), 2.0, 64.0));
  size_t kept = size_t(std::clamp(4e6 / stepsOf(problem), 2.0, 64.0));
  std::vector<std::vector<size_t>> orders =
      candidateOrders(problem.cluster, network, looked);
  if (orders.size() <= kept)
    return orders;
  SppCandidates candidates(problem, network);
  std::vector<std::pair<Seconds, size_t>> promises;
  for (size_t i = 2; i < orders.size(); ++i)
    promises.push_back({candidates.promiseOf(orders[i]), i});
  std::sort(promises.begin(), promises.end());
  std::vector<std::vector<size_t>> chosen = {orders[0], orders[1]};
  for (size_t i = 0; chosen.size() < kept; ++i)
    chosen.push_back(orders[promises[i].second]);
  return chosen;
}

namespace {
/// What has been simulated.
struct Simulated {
  Plan plan;
  size_t order;
};
} // namespace

static bool isBetter(const Plan &a, const Plan &b) {
  return a.time != b.time ? a.time < b.time : isBefore(a, b);
}

/// "2 stages [0,19)x15 [19,26)x1".
static std::string shapeOf(const Plan &plan) {
  std::string text = std::to_string(plan.stages.size()) +
                     (plan.stages.size() == 1 ? " stage" : " stages");
  for (const StagePlan &stage : plan.stages)
    text += " [" + std::to_string(stage.layers.front()) + "," +
            std::to_string(stage.layers.back() + 1) + ")x" +
            std::to_string(stage.devices.size());
  return text;
}

/// "3 % more".
static std::string more(Seconds time, Seconds best) {
  if (!(best.value > 0))
    return "no step takes any time";
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %% more",
                100 * (time.value / best.value - 1));
  return text;
}

/// The stage that takes longest, and by what.
static std::string boundBy(const Plan &plan) {
  size_t slowest = 0;
  for (size_t s = 1; s < plan.stages.size(); ++s)
    if (plan.stages[s].times.total() > plan.stages[slowest].times.total())
      slowest = s;
  return "its slowest stage " + std::to_string(slowest) + " is bound by " +
         toString(plan.stages[slowest].binding);
}

/// Says of the best plan that `differs` what it takes, or at least would take.
static void explain(const Problem &problem, const Network &network,
                    const char *what, std::vector<Simulated> &simulated,
                    std::vector<SppCandidate> &skipped, Plan &best,
                    const std::function<bool(const Plan &, size_t)> &differs) {
  const Plan *runnerUp = nullptr;
  for (const Simulated &one : simulated)
    if (differs(one.plan, one.order) &&
        (!runnerUp || isBetter(one.plan, *runnerUp)))
      runnerUp = &one.plan;
  if (!runnerUp)
    for (SppCandidate &candidate : skipped)
      if (differs(candidate.plan, candidate.order) &&
          evaluate(problem, network, candidate.plan)) {
        runnerUp = &candidate.plan;
        break;
      }
  if (runnerUp)
    best.explanation.push_back(
        std::string(what) + ": " + shapeOf(*runnerUp) + ", order " +
        toString(runnerUp->order) + ", takes " + toString(runnerUp->time) +
        ", " + more(runnerUp->time, best.time) + "; " + boundBy(*runnerUp));
}

/// Which constraint no plan meets, and by how much.
static Error infeasible(const Problem &problem, const Network &network,
                        const SppCandidates &candidates,
                        const std::vector<size_t> &order) {
  int64_t extra = 0;
  Plan plan = candidates.planOfLeastMemory(order, extra);
  if (plan.stages.empty())
    return Error{"no plan has " + std::to_string(problem.stages) + " stages"};
  Status status = evaluate(problem, network, plan);
  Error error =
      status ? Error{"no plan of the searched ones fits"} : status.error();
  error.message =
      "no plan fits in memory; the best one fails: " + error.message;
  error.notes.push_back(
      "with " + toString(Bytes(extra)) +
      " more on every device there is a plan: " + shapeOf(plan));
  return error;
}

Result<Plan> planOnLists(const Problem &problem, const Network &network,
                         const std::vector<std::vector<size_t>> &orders) {
  SppCandidates candidates(problem, network);
  for (const std::vector<size_t> &order : orders)
    candidates.addOrder(order);
  std::vector<Simulated> simulated;
  std::vector<SppCandidate> skipped;
  size_t best = 0;
  // What came out best says how long tails may be without being noticed; look
  // once more for plans like it, until none is better.
  for (int round = 0; round < kRounds; ++round) {
    size_t last = best, before = simulated.size();
    for (SppCandidate &candidate : candidates.take()) {
      bool isHopeless =
          !simulated.empty() && candidate.bound >= simulated[best].plan.time;
      if (isHopeless || simulated.size() >= before + kMostSimulated) {
        skipped.push_back(std::move(candidate));
        continue;
      }
      if (!evaluate(problem, network, candidate.plan))
        continue; // Does not fit; the error speaks of all of them.
      simulated.push_back({std::move(candidate.plan), candidate.order});
      if (isBetter(simulated.back().plan, simulated[best].plan))
        best = simulated.size() - 1;
    }
    if (simulated.empty())
      return infeasible(problem, network, candidates, orders.front());
    if (round > 0 && best == last)
      break;
    const Simulated &found = simulated[best];
    candidates.addLike(found.plan, found.order, orders[found.order]);
  }

  Plan plan = simulated[best].plan;
  size_t order = simulated[best].order, stages = plan.stages.size();
  explain(problem, network, "runner-up with another number of stages",
          simulated, skipped, plan, [&](const Plan &other, size_t) {
            return other.stages.size() != stages;
          });
  explain(problem, network, "runner-up on another list of devices", simulated,
          skipped, plan,
          [&](const Plan &, size_t other) { return other != order; });
  plan.planner = "spp";
  plan.objective = "time";
  plan.value = plan.time.value;
  plan.familyBound = familyLowerBound(problem, network);
  return plan;
}

/// Most stages that DAPPLE's search may look at: under 0.4 s.
static constexpr double kMostDappleSteps = 2e7;

/// Replaces `plan` by one that other planners find and that is faster: DAPPLE
/// takes devices of hosts in any order, PipeDream alike on every host.
static void compareWithOthers(const Problem &problem, const Network &network,
                              Plan &plan) {
  if (dappleSteps(problem, network) > kMostDappleSteps)
    return;
  std::vector<Plan> others = dapplePlans(problem, network);
  if (Result<Plan> other = planPipeDream(problem))
    others.push_back(std::move(*other));
  for (Plan &other : others) {
    bool isChain = std::all_of(
        other.stages.begin(), other.stages.end(), [](const StagePlan &stage) {
          return stage.layers.back() - stage.layers.front() + 1 ==
                 int64_t(stage.layers.size());
        });
    if (!isChain || !evaluate(problem, network, other) ||
        other.time >= plan.time)
      continue;
    other.explanation = {"runner-up on a list of devices: " + shapeOf(plan) +
                         ", order " + toString(plan.order) + ", takes " +
                         toString(plan.time) + ", " +
                         more(plan.time, other.time) + "; " + boundBy(plan)};
    other.explanation.insert(other.explanation.begin(),
                             std::string("found by the search of ") +
                                 other.planner);
    other.planner = "spp";
    other.objective = "time";
    other.value = other.time.value;
    other.familyBound = plan.familyBound;
    plan = std::move(other);
  }
}

Result<Plan> planSpp(const Problem &problem) {
  if (Status status = problem.check(); !status)
    return status.error();
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  Result<Plan> plan =
      planOnLists(problem, *network, chooseOrders(problem, *network));
  if (plan)
    compareWithOthers(problem, *network, *plan);
  return plan;
}

} // namespace stagewright
