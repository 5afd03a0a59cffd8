//===- Balance.cpp - min-max cut of a chain -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chains/BestCut.h"
#include "Chains/IntervalCosts.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Planning/Planners.h"
#include "stagewright/Support/Infinity.h"
#include <algorithm>

namespace stagewright {

static double larger(double a, double b) { return std::max(a, b); }
static double sum(double a, double b) { return a + b; }

/// The error if no cut fits: how much memory the best cut lacks.
static Error doesNotFit(const Problem &problem, const IntervalCosts &costs) {
  auto excess = [&](int64_t s, int64_t first, int64_t end) {
    return double(costs.memory(s, first, end).value -
                  problem.cluster.devices[s].memory.value);
  };
  double best = 0;
  std::vector<int64_t> ends =
      bestCut(problem.layers.size(), problem.stages, excess, larger, best);
  for (int64_t s = 0, first = 0; s < problem.stages; first = ends[s++]) {
    if (excess(s, first, ends[s]) != best)
      continue;
    const Device &device = problem.cluster.devices[s];
    return Error{"no cut into " + std::to_string(problem.stages) +
                 " stages fits in memory; the best one needs " +
                 toString(costs.memory(s, first, ends[s])) + " on device " +
                 device.name + ", has " + toString(device.memory) +
                 "; use more stages, fewer microbatches or a device with " +
                 toString(Bytes(int64_t(best))) + " more"};
  }
  return Error{"no cut fits in memory"};
}

Result<Plan> planBalance(const Problem &asked) {
  if (Status status = asked.check(); !status)
    return status.error();
  Problem problem = asked;
  if (problem.stages == 0)
    problem.stages =
        std::min(problem.layers.size(), problem.cluster.devices.size());
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  IntervalCosts costs(problem, *network);
  int64_t layers = problem.layers.size();
  auto load = [&](int64_t s, int64_t first, int64_t end) {
    if (costs.memory(s, first, end) > problem.cluster.devices[s].memory)
      return kInfinity;
    double stage = costs.times(s, first, end).total().value;
    return s == 0 ? stage : std::max(stage, costs.transfer(s, first).value);
  };
  double most = 0;
  if (bestCut(layers, problem.stages, load, larger, most).empty())
    return doesNotFit(problem, costs);
  // Among the cuts with that max, take the most even one. The tolerance is for
  // rounding: sums are added in another order.
  auto evenness = [&](int64_t s, int64_t first, int64_t end) {
    double value = load(s, first, end);
    return value <= most * (1 + 1e-12) ? value * value : kInfinity;
  };
  double squares = 0;
  std::vector<int64_t> ends =
      bestCut(layers, problem.stages, evenness, sum, squares);

  Plan plan;
  plan.planner = "balance";
  plan.objective = "bottleneck";
  plan.value = most;
  for (int64_t s = 0, first = 0; s < problem.stages; first = ends[s++])
    plan.stages.push_back(stageOf(first, ends[s], {size_t(s)}));
  if (Status status = evaluate(problem, *network, plan); !status)
    return status.error();
  return plan;
}

} // namespace stagewright
