//===- IdealDp.cpp - stages of least maximum load -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaxLoad/MaxLoadPlan.h"
#include "stagewright/Planning/Baselines/Baselines.h"
#include "stagewright/Support/Printed.h"

namespace stagewright {

static Result<Plan> planContiguous(const Problem &problem, bool linear) {
  if (Status status = problem.check(); !status)
    return status.error();
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  Result<ContiguousOptimum> found = findContiguous(problem, *network, linear);
  if (!found)
    return found.error();
  Result<Plan> plan = planOf(problem, *network, found->graph, found->split);
  if (!plan)
    return plan.error();
  plan->planner = linear ? "ideal-dp-linear" : "ideal-dp";
  std::string groups = std::to_string(found->graph.size());
  std::string load = printed("%.6g", found->split.load);
  plan->explanation = {
      linear ? "maximum load " + load + " is the least along one order of " +
                   groups + " groups of layers"
             : "maximum load " + load + " is the least over " +
                   std::to_string(found->ideals) + " ideals of " + groups +
                   " groups of layers",
      "compute alone, evenly spread, would be " +
          printed("%.6g",
                  leastLoad(found->graph, mostStages(problem, found->graph)))};
  if (!linear)
    plan->explanation.push_back("along one order it would be " +
                                printed("%.6g", found->linear));
  return plan;
}

Result<Plan> planIdealDp(const Problem &problem) {
  return planContiguous(problem, /*linear=*/false);
}

Result<Plan> planIdealDpLinear(const Problem &problem) {
  return planContiguous(problem, /*linear=*/true);
}

} // namespace stagewright
