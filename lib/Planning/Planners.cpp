//===- Planners.cpp - planners by name ------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Planners.h"
#include "stagewright/Planning/Bounds.h"
#include <array>

namespace stagewright {

std::span<const Planner> allPlanners() {
  static constexpr std::array planners = {
      Planner{"spp", "synchronous training on arbitrary links", planSpp},
      Planner{"balance", "min-max cut of the chain, one device a stage",
              planBalance},
      Planner{"ideal-dp",
              "contiguous stages of least maximum load, of any graph",
              planIdealDp},
      Planner{"ideal-dp-linear", "the same along one order of the layers",
              planIdealDpLinear},
      Planner{"piper", "replicas, tensor-parallel ways and recomputed layers",
              planPiper},
      Planner{"fixed", "the plan that is given, in ranges or JSON", planFixed},
  };
  return planners;
}

Result<Plan> runPlanner(const Planner &planner, const Problem &problem) {
  if (Status status = problem.check(); !status)
    return status.error();
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  Result<Plan> plan = planner.plan(problem);
  if (!plan)
    return plan.error();
  plan->familyBound = familyLowerBound(problem, *network);
  if (Status status = verify(problem, *plan); !status)
    return status.error();
  return plan;
}

Result<Planner> findPlanner(std::string_view name) {
  std::string known;
  for (const Planner &planner : allPlanners()) {
    if (name == planner.name)
      return planner;
    known += (known.empty() ? "" : ", ") + std::string(planner.name);
  }
  return Error{"unknown planner '" + std::string(name) + "'; there are " +
               known};
}

} // namespace stagewright
