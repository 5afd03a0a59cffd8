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

/// How many lists of devices are tried: as many as helps on small clusters, RDO
/// and its reverse where one run of the dynamic program takes long.
static size_t numOrders(const Problem &problem) {
  double devices = double(problem.cluster.devices.size());
  double layers = double(problem.layers.size());
  double steps = layers * devices * devices * devices * (devices / 24 + 2);
  return size_t(std::clamp(1e8 / steps, 2.0, 64.0));
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

Result<Plan> planSpp(const Problem &problem) {
  if (Status status = problem.check(); !status)
    return status.error();
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  std::vector<std::vector<size_t>> orders =
      candidateOrders(problem.cluster, *network, numOrders(problem));
  SppCandidates candidates(problem, *network);
  for (const std::vector<size_t> &order : orders)
    candidates.addOrder(order);
  std::vector<SppCandidate> all = candidates.take();

  std::vector<Simulated> simulated;
  size_t next = 0, best = 0;
  for (; next < all.size() && simulated.size() < kMostSimulated; ++next) {
    if (!simulated.empty() && all[next].bound >= simulated[best].plan.time)
      break;
    if (!evaluate(problem, *network, all[next].plan))
      continue; // Does not fit; the error speaks of all of them.
    simulated.push_back({all[next].plan, all[next].order});
    if (isBetter(simulated.back().plan, simulated[best].plan))
      best = simulated.size() - 1;
  }
  if (simulated.empty())
    return infeasible(problem, *network, candidates, orders.front());

  Plan plan = simulated[best].plan;
  size_t order = simulated[best].order, stages = plan.stages.size();
  all.erase(all.begin(), all.begin() + next);
  explain(problem, *network, "runner-up with another number of stages",
          simulated, all, plan, [&](const Plan &other, size_t) {
            return other.stages.size() != stages;
          });
  explain(problem, *network, "runner-up on another list of devices", simulated,
          all, plan,
          [&](const Plan &, size_t other) { return other != order; });
  plan.planner = "spp";
  plan.objective = "time";
  plan.value = plan.time.value;
  plan.familyBound = familyLowerBound(problem, *network);
  return plan;
}

} // namespace stagewright
