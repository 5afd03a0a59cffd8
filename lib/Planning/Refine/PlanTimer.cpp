//===- PlanTimer.cpp - the time of many plans -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Refine/PlanTimer.h"
#include "stagewright/Planning/Bounds.h"
#include <limits>

namespace stagewright {

static constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

bool PlanTimer::fits(const Plan &plan, ExecutionOrder order) const {
  std::vector<Bytes> need(problem.cluster.devices.size());
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    std::vector<Bytes> bytes =
        memoryOf(problem, curve.layers(), plan, s, order);
    for (size_t i = 0; i < bytes.size(); ++i) {
      size_t device = plan.stages[s].devices[i];
      need[device] += bytes[i];
      if (need[device] > problem.cluster.devices[device].memory)
        return false;
    }
  }
  return true;
}

Seconds PlanTimer::timeOf(Plan &plan, Seconds cutoff) {
  if (routesOf(problem, plan) > kMostRoutes)
    return kNever;
  for (StagePlan &stage : plan.stages) {
    stage.levels.clear();
    stage.offload.clear();
  }
  curve.state(plan.stages);
  PipelineModel model = pipelineOf(problem, network, plan);
  numBlocks += int64_t(problem.layers.size() + problem.values.size());
  if (planLowerBound(model) >= cutoff)
    return kNever;
  ++numEvaluations;
  int64_t blocks = 2 * model.microbatches *
                   int64_t(model.stages.size() + model.channels.size());
  // GPipe keeps all microbatches in flight; what fits then fits in every order.
  bool all = fits(plan, ExecutionOrder::GPipe);
  Seconds best = cutoff;
  std::optional<Plan> found;
  auto consider = [&](const Plan &at, const PipelineModel &model,
                      ExecutionOrder order) {
    numBlocks += blocks;
    Seconds time = simulator.makespanOf(model, order, best);
    if (!(time < best))
      return;
    best = time;
    found = at;
    found->order = order;
  };
  for (ExecutionOrder order : problem.orders) {
    std::optional<Plan> stated = curve.offloadAll(plan, order);
    if (!stated && (all || fits(plan, order))) {
      consider(plan, model, order);
      continue;
    }
    if (!stated && curve.empty())
      continue;
    Plan slower = stated ? std::move(*stated) : plan;
    slower.order = order;
    curve.fit(slower, order);
    if (fits(slower, order))
      consider(slower, pipelineOf(problem, network, slower), order);
  }
  if (!found)
    return kNever;
  plan = std::move(*found);
  return best;
}

} // namespace stagewright
