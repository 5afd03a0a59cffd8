//===- Straight.cpp - one device per stage, balanced by time --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chains/StraightStages.h"
#include "stagewright/Planning/Baselines/Baselines.h"
#include "stagewright/Planning/Evaluate.h"
#include <algorithm>
#include <limits>

namespace stagewright {

Result<Plan> planStraightStages(const Problem &problem, const char *name,
                                const char *objective, const CutStages &cut) {
  if (Status status = problem.check(); !status)
    return status.error();
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  size_t stages = problem.stages
                      ? size_t(problem.stages)
                      : std::min(problem.layers.size(), network->size());
  std::vector<size_t> classOf = problem.cluster.classOfDevices();
  std::vector<std::vector<double>> seconds(stages);
  for (size_t s = 0; s < stages; ++s)
    for (const Layer &layer : problem.layers) {
      const StageTimes &times = layer.times[classOf[s]];
      seconds[s].push_back(problem.forwardOnly ? times.forward.value
                                               : times.total().value);
    }
  Plan plan;
  plan.planner = name;
  plan.objective = objective;
  size_t first = 0, device = 0;
  for (size_t end : cut(seconds, plan)) {
    plan.stages.push_back(stageOf(int64_t(first), int64_t(end), {device++}));
    first = end;
  }
  if (Status status = evaluate(problem, *network, plan); !status)
    return status.error();
  return plan;
}

/// The ends of the stages with the least max time. Ties go to the cut in which
/// the last stages begin earliest.
static std::vector<size_t>
leastMaximum(const std::vector<std::vector<double>> &seconds, Plan &plan) {
  size_t stages = seconds.size(), layers = seconds.front().size();
  std::vector<std::vector<double>> least(
      stages + 1,
      std::vector<double>(layers + 1, std::numeric_limits<double>::infinity()));
  std::vector<std::vector<size_t>> cut(stages + 1,
                                       std::vector<size_t>(layers + 1, 0));
  least[0][0] = 0;
  for (size_t s = 0; s < stages; ++s)
    for (size_t first = s; first < layers; ++first) {
      double sum = 0;
      for (size_t end = first + 1; end <= layers; ++end) {
        sum += seconds[s][end - 1];
        double value = std::max(least[s][first], sum);
        if (value < least[s + 1][end]) {
          least[s + 1][end] = value;
          cut[s + 1][end] = first;
        }
      }
    }
  plan.value = least[stages][layers];
  std::vector<size_t> ends;
  for (size_t s = stages, end = layers; s > 0; end = cut[s--][end])
    ends.push_back(end);
  std::reverse(ends.begin(), ends.end());
  return ends;
}

Result<Plan> planStraight(const Problem &problem) {
  return planStraightStages(problem, "straight", "bottleneck", leastMaximum);
}

} // namespace stagewright
