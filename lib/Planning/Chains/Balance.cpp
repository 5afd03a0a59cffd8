//===- Balance.cpp - min-max cut of a chain -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chains/IntervalCosts.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Planning/Planners.h"
#include <algorithm>
#include <functional>
#include <limits>

namespace stagewright {

/// Cost of stage `s` with layers [first, end), together with its cut before
/// `first`; infinite where it is not allowed.
using StageCost = std::function<double(int64_t s, int64_t first, int64_t end)>;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The ends of the stages of a best cut, or none if every cut is infinite.
/// `join` combines the cost of the stages so far with that of the next one:
/// maximum or sum. Of equal cuts the one with the earliest last cuts.
static std::vector<int64_t>
bestCut(int64_t layers, int64_t stages, const StageCost &cost,
        const std::function<double(double, double)> &join, double &best) {
  std::vector<std::vector<double>> least(
      stages + 1, std::vector<double>(layers + 1, kInfinity));
  std::vector<std::vector<int64_t>> cut(stages + 1,
                                        std::vector<int64_t>(layers + 1, -1));
  least[0][0] = -kInfinity;
  for (int64_t s = 0; s < stages; ++s)
    for (int64_t end = s + 1; end <= layers - (stages - 1 - s); ++end)
      for (int64_t first = s; first < end; ++first) {
        if (least[s][first] == kInfinity)
          continue;
        double next = cost(s, first, end);
        double value = s == 0 ? next : join(least[s][first], next);
        if (value < least[s + 1][end]) {
          least[s + 1][end] = value;
          cut[s + 1][end] = first;
        }
      }
  best = least[stages][layers];
  std::vector<int64_t> ends;
  if (best == kInfinity)
    return ends;
  for (int64_t s = stages, end = layers; s > 0; end = cut[s--][end])
    ends.push_back(end);
  std::reverse(ends.begin(), ends.end());
  return ends;
}

static double larger(double a, double b) { return std::max(a, b); }
static double sum(double a, double b) { return a + b; }

/// Says by how much even the cut that fits best does not fit.
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
  // Of all cuts with that maximum the most even one. The allowance is for sums
  // that were added in another order.
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
