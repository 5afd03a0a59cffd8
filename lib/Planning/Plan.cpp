//===- Plan.cpp - what a planner answers ----------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Plan.h"
#include "IntervalCosts.h"
#include <algorithm>
#include <array>

namespace stagewright {

Status verify(const Problem &problem, const Plan &plan) {
  if (int64_t(plan.stages.size()) != problem.stages)
    return Error{"plan has " + std::to_string(plan.stages.size()) +
                 " stages, the problem asks for " +
                 std::to_string(problem.stages)};
  IntervalCosts costs(problem);
  int64_t next = 0;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const StagePlan &stage = plan.stages[s];
    if (stage.first != next || stage.end <= stage.first ||
        stage.end > int64_t(problem.layers.size()) || stage.device != s)
      return Error{"stage " + std::to_string(s) +
                   " of the plan does not continue the chain on its device"};
    next = stage.end;
    const Device &device = problem.cluster.devices[s];
    Bytes need = costs.memory(s, stage.first, stage.end);
    if (need > device.memory)
      return Error{"stage " + std::to_string(s) + " needs " + toString(need) +
                   " on device " + device.name + ", has " +
                   toString(device.memory)};
  }
  if (next != int64_t(problem.layers.size()))
    return Error{"plan ends at layer " + std::to_string(next) +
                 ", the graph has " + std::to_string(problem.layers.size())};
  return {};
}

Result<Planner> findPlanner(std::string_view name) {
  static constexpr std::array<Planner, 1> planners = {
      {{"balance", planBalance}}};
  std::string known;
  for (const Planner &planner : planners) {
    if (name == planner.name)
      return planner;
    known += (known.empty() ? "" : ", ") + std::string(planner.name);
  }
  return Error{"unknown planner '" + std::string(name) + "'; there are " +
               known};
}

} // namespace stagewright
