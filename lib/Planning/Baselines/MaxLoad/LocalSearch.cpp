//===- LocalSearch.cpp - devices with more than one stage -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "MaxLoad/Annealing.h"
#include "MaxLoad/MaxLoadPlan.h"
#include "stagewright/Planning/Baselines/Baselines.h"
#include "stagewright/Support/Printed.h"
#include <algorithm>

namespace stagewright {

/// Seed of the random moves; printed with the plan.
static constexpr uint64_t kSeed = 1;
/// As in the published baseline.
static constexpr int kRestarts = 10;
/// Loads that differ by less than this share count as equal; the simulated time
/// decides between such assignments.
static constexpr double kLikeLoads = 0.001;

/// The position of each node under a contiguous split.
static std::vector<size_t> positionsOf(const ContiguousOptimum &optimum) {
  std::vector<size_t> positionOf(optimum.graph.size());
  for (size_t s = 0; s < optimum.split.stages.size(); ++s)
    for (int node : optimum.split.stages[s])
      positionOf[node] = std::find(optimum.order.begin(), optimum.order.end(),
                                   optimum.split.devices[s]) -
                         optimum.order.begin();
  return positionOf;
}

/// The evaluated plan of an assignment.
static Result<Plan> planOf(const Problem &problem, const Network &network,
                           const ContiguousOptimum &optimum,
                           const std::vector<size_t> &positionOf) {
  MaxLoadSplit split;
  split.load = LoadAssignment(problem, optimum.graph, optimum.order, positionOf)
                   .maxLoad();
  for (auto &[position, nodes] : contiguousStages(optimum.graph, positionOf)) {
    split.stages.push_back(nodes);
    split.devices.push_back(optimum.order[position]);
  }
  return planOf(problem, network, optimum.graph, split);
}

/// The contiguous optimum, along one order if there are too many ideals.
static Result<ContiguousOptimum> startOf(const Problem &problem,
                                         const Network &network) {
  Result<ContiguousOptimum> exact =
      findContiguous(problem, network, /*linear=*/false);
  return exact ? std::move(exact)
               : findContiguous(problem, network, /*linear=*/true);
}

/// The fastest of the plans whose load is about the least.
static const Plan &bestOf(const std::vector<Plan> &plans) {
  double least = plans.front().value;
  for (const Plan &plan : plans)
    least = std::min(least, plan.value);
  const Plan *best = nullptr;
  for (const Plan &plan : plans)
    if (plan.value <= least * (1 + kLikeLoads) &&
        (!best || plan.time < best->time))
      best = &plan;
  return *best;
}

Result<Plan> planLocalSearch(const Problem &problem) {
  if (Status status = problem.check(); !status)
    return status.error();
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  Result<ContiguousOptimum> start = startOf(problem, *network);
  if (!start)
    return start.error();
  const LoadGraph &graph = start->graph;
  Annealing annealing(problem, graph, start->order, start->split.load, kSeed);
  Result<Plan> contiguous = planOf(problem, *network, graph, start->split);
  std::vector<Plan> found;
  if (contiguous)
    found.push_back(*contiguous);
  std::optional<Error> reason;
  for (int restart = -1; restart < kRestarts; ++restart) {
    Result<Plan> plan =
        planOf(problem, *network, *start,
               annealing.improve(restart <= 0 ? positionsOf(*start)
                                              : annealing.randomStart(),
                                 /*anneal=*/restart >= 0));
    if (plan)
      found.push_back(std::move(*plan));
    else if (!reason)
      reason = plan.error();
  }
  if (found.empty())
    return *reason;
  Plan plan = bestOf(found);
  plan.planner = "local-search";
  plan.explanation = {
      "seed " + std::to_string(kSeed) + ", " + std::to_string(kRestarts) +
          " restarts: maximum load " + printed("%.6g", plan.value) +
          ", contiguous " + printed("%.6g", start->split.load),
      "compute alone, evenly spread, would be " +
          printed("%.6g", leastLoad(graph, mostStages(problem, graph)))};
  if (contiguous)
    plan.explanation.push_back("the contiguous plan would take " +
                               toString(contiguous->time));
  if (reason)
    plan.explanation.push_back("not all assignments have a plan: " +
                               reason->message);
  return plan;
}

} // namespace stagewright
