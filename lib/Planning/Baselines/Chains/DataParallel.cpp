//===- DataParallel.cpp - one stage on as many devices as allowed ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Baselines/Baselines.h"
#include "stagewright/Planning/Evaluate.h"
#include <numeric>

namespace stagewright {

Result<Plan> planDataParallel(const Problem &problem) {
  if (Status status = problem.check(); !status)
    return status.error();
  if (problem.stages > 1)
    return Error{"planner 'data-parallel' makes one stage, got stages=" +
                 std::to_string(problem.stages) +
                 "; leave out stages=, or use the planner 'spp'"};
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  size_t replicas = network->size();
  if (problem.maxReplicas > 0)
    replicas = std::min(replicas, size_t(problem.maxReplicas));
  std::vector<size_t> devices(replicas);
  std::iota(devices.begin(), devices.end(), 0);
  Plan plan;
  plan.planner = "data-parallel";
  plan.stages = {stageOf(0, int64_t(problem.layers.size()), devices)};
  if (Status status = evaluate(problem, *network, plan); !status)
    return status.error();
  plan.value = plan.time.value;
  return plan;
}

} // namespace stagewright
