//===- Spp.cpp - the default planner --------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes the plans of the dynamic program for each list of devices by increasing
// lower bound, and simulates each in every execution order until no bound is
// below the best time. docs/planner.md bounds the distance to the optimum.
//
//===----------------------------------------------------------------------===//

#include "Spp/Spp.h"
#include "Dapple/DapplePlans.h"
#include "Spp/SppCandidates.h"
#include "stagewright/Planning/AskedStages.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Planning/DeviceOrder.h"
#include "stagewright/Planning/Planners.h"
#include "stagewright/Support/Printed.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>

namespace stagewright {

/// Max plans simulated per round; bounds are so close that few are needed.
static constexpr size_t kMostSimulated = 256;

/// Max stages that DAPPLE's search may evaluate; takes under 0.4 s.
static constexpr double kMostDappleSteps = 2e7;

/// Number of other planners' plans whose lists of devices are searched too.
static constexpr size_t kMostListsOfOthers = 2;

/// Max devices with which addBelow() searches every list, not only the best.
static constexpr size_t kMostDevicesOfAllLists = 32;

/// If memory is short, the plan that the dynamic program finds may need
/// recomputation levels that cost more than it estimates. With at most this
/// many devices it also runs with limits on replicas, which finds other plans.
static constexpr int64_t kMostDevicesOfLimits = 16;

/// Max rounds of the search; all but the first search around the best plan.
static constexpr int kRounds = 5;

namespace {
/// A simulated plan and the number of its list of devices.
struct Simulated {
  Plan plan;
  size_t order;
};
} // namespace

static bool isBetter(const Plan &a, const Plan &b) {
  return a.time != b.time ? a.time < b.time : isBefore(a, b);
}

/// The stages as text: "2 stages [0,19)x15 [19,26)x1".
static std::string shapeOf(const Plan &plan) {
  std::string text = std::to_string(plan.stages.size()) +
                     (plan.stages.size() == 1 ? " stage" : " stages");
  for (const StagePlan &stage : plan.stages)
    text += " [" + std::to_string(stage.layers.front()) + "," +
            std::to_string(stage.layers.back() + 1) + ")x" +
            std::to_string(stage.devices.size());
  return text;
}

/// How much longer `time` is than `best`, as text: "3.00 % more".
static std::string more(Seconds time, Seconds best) {
  if (!(best.value > 0))
    return "no step takes any time";
  return printed("%.2f %% more", 100 * (time.value / best.value - 1));
}

/// Text on the slowest stage and what bounds it.
static std::string boundBy(const Plan &plan) {
  size_t slowest = 0;
  for (size_t s = 1; s < plan.stages.size(); ++s)
    if (plan.stages[s].times.total() > plan.stages[slowest].times.total())
      slowest = s;
  return "its slowest stage " + std::to_string(slowest) + " is bound by " +
         toString(plan.stages[slowest].binding);
}

/// Adds to `best` a line on the fastest other plan for which `differs` is true:
/// one of `simulated`, else the first of `skipped` that fits.
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

/// The error if no plan fits: which constraint fails, and by how much.
static Error infeasible(const Problem &problem, const Network &network) {
  int64_t extra = 0;
  Plan plan =
      SppCandidates(problem, network)
          .planOfLeastMemory(chooseLists(problem, network).front(), extra);
  if (plan.stages.empty())
    return Error{"no plan has " + std::to_string(problem.stages) + " stages"};
  // Its memory when it recomputes everything that saves memory.
  Problem roomy = problem;
  for (Device &device : roomy.cluster.devices)
    device.memory += Bytes(extra);
  Status status = evaluate(roomy, network, plan);
  if (!status)
    return Error{"no plan fits in memory; the best one fails: " +
                 status.error().message};
  size_t number = 0, place = 0; // The stage and device that lack the most.
  Bytes need, missing(std::numeric_limits<int64_t>::min());
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    std::vector<Bytes> bytes = memoryOf(problem, plan, s, plan.order);
    for (size_t i = 0; i < bytes.size(); ++i) {
      size_t on = plan.stages[s].devices[i];
      Bytes over = bytes[i] - problem.cluster.devices[on].memory;
      if (over > missing)
        std::tie(number, place, need, missing) =
            std::tuple(s, on, bytes[i], over);
    }
  }
  const Device &device = problem.cluster.devices[place];
  Error error{"no plan fits in memory; the best one fails: stage " +
              std::to_string(number) + " needs " + toString(need) +
              " on device " + device.name + ", has " + toString(device.memory) +
              "; use more devices, fewer or smaller microbatches, or a device "
              "with " +
              toString(missing) + " more"};
  error.notes.push_back(
      "with " + toString(Bytes(extra)) +
      " more on every device there is a plan: " + shapeOf(plan));
  return error;
}

std::vector<size_t> listOf(const Problem &problem, const Plan &plan) {
  std::vector<size_t> list;
  for (const StagePlan &stage : plan.stages)
    list.insert(list.end(), stage.devices.begin(), stage.devices.end());
  for (size_t device = 0; device < problem.cluster.devices.size(); ++device)
    if (std::find(list.begin(), list.end(), device) == list.end())
      list.push_back(device);
  return list;
}

/// Plans of planners that place stages by other rules, by increasing bound:
/// DAPPLE uses hosts in any order, PipeDream all hosts in the same way.
static std::vector<Plan> plansOfOthers(const Problem &problem,
                                       const Network &network) {
  std::vector<Plan> plans;
  if (dappleSteps(problem, network) > kMostDappleSteps)
    return plans;
  plans = dapplePlans(problem, network);
  if (Result<Plan> plan = planPipeDream(problem))
    plans.push_back(std::move(*plan));
  std::erase_if(plans, [&](const Plan &plan) {
    return !isOfFamily(plan) || !verifyAskedStages(problem, plan);
  });
  for (Plan &plan : plans)
    plan.planBound = planLowerBound(pipelineOf(problem, network, plan));
  std::sort(plans.begin(), plans.end(), [](const Plan &a, const Plan &b) {
    return a.planBound != b.planBound ? a.planBound < b.planBound
                                      : isBefore(a, b);
  });
  return plans;
}

Result<Plan> planOnLists(const Problem &problem, const Network &network,
                         std::vector<std::vector<size_t>> orders,
                         const std::vector<Plan> &others) {
  SppCandidates candidates(problem, network);
  for (size_t i = 0; i < std::min(others.size(), kMostListsOfOthers); ++i) {
    std::vector<size_t> list = listOf(problem, others[i]);
    if (std::find(orders.begin(), orders.end(), list) == orders.end())
      orders.push_back(std::move(list));
  }
  for (const std::vector<size_t> &order : orders)
    candidates.addOrder(order);
  size_t searched = orders.size();
  for (const Plan &plan : others) {
    std::vector<size_t> list = listOf(problem, plan);
    size_t order =
        std::find(orders.begin(), orders.end(), list) - orders.begin();
    if (order == orders.size())
      orders.push_back(std::move(list));
    candidates.addPlan(plan, order);
  }
  bool isSmall = problem.cluster.devices.size() <= kMostDevicesOfAllLists;
  std::vector<Simulated> simulated;
  std::vector<SppCandidate> skipped;
  size_t best = 0;
  // The best plan shows how much of the all-reduce tails is hidden. Search
  // again for plans similar to it, until none is better.
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
        continue; // Does not fit; whyNoPlan() reports it if none fits.
      simulated.push_back({std::move(candidate.plan), candidate.order});
      if (isBetter(simulated.back().plan, simulated[best].plan))
        best = simulated.size() - 1;
    }
    if (simulated.empty())
      return Error{"no plan fits in memory"};
    if (round == 0) {
      for (size_t i = 0; i < orders.size(); ++i)
        if ((isSmall && i < searched) || i == simulated[best].order)
          candidates.addBelow(simulated[best].plan.time, i, orders[i]);
    } else if (best == last) {
      break;
    }
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
          skipped, plan, [&](const Plan &other, size_t list) {
            return list != order && shapeOf(other) != shapeOf(plan);
          });
  if (plan.planner != "spp")
    plan.explanation.push_back("found by the search of " + plan.planner);
  plan.planner = "spp";
  plan.objective = "time";
  plan.value = plan.time.value;
  return plan;
}

Error whyNoPlan(const Problem &problem) {
  if (Status status = problem.check(); !status)
    return status.error();
  Result<Network> network = Network::create(problem.cluster);
  return network ? infeasible(problem, *network) : network.error();
}

Result<Plan> planSpp(const Problem &problem) {
  Result<Plan> plan = planSppBriefly(problem);
  return plan ? plan : whyNoPlan(problem);
}

Result<Plan> planSppBriefly(const Problem &problem) {
  if (Status status = problem.check(); !status)
    return status.error();
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  std::vector<std::vector<size_t>> lists = chooseLists(problem, *network);
  Result<Plan> plan =
      planOnLists(problem, *network, lists, plansOfOthers(problem, *network));
  auto devices = int64_t(problem.cluster.devices.size());
  if (!plan || problem.maxReplicas > 0 || !problem.askedStages.empty() ||
      devices > kMostDevicesOfLimits || !memoryMayBind(problem))
    return plan;
  for (int64_t limit = 1; limit < devices; limit *= 2) {
    Problem limited = problem;
    limited.maxReplicas = limit;
    Result<Plan> other =
        planOnLists(limited, *network, lists, plansOfOthers(limited, *network));
    if (!other || !isBetter(*other, *plan))
      continue;
    plan = std::move(other);
    plan->explanation.push_back("found by a search of stages with at most " +
                                std::to_string(limit) +
                                (limit == 1 ? " replica" : " replicas"));
  }
  return plan;
}

} // namespace stagewright
