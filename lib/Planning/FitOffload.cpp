//===- FitOffload.cpp - stashes offloaded to fit in memory ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage of n layers that does not fit may offload the stashes of its first k
// layers to the host. Copies cost nothing if they end before their slot is
// needed again. So the values tried for k are 0, the min that fits, the max
// that costs nothing, and n; if the stage still does not fit, it also
// recomputes. The k that adds the least time to a microbatch is taken, the
// first of equal ones.
//
//===----------------------------------------------------------------------===//

#include "FitLevels.h"
#include "stagewright/Scheduling/InFlight.h"
#include <algorithm>
#include <optional>

namespace stagewright {

bool LevelCurve::mayOffload(const StagePlan &stage) const {
  return problem.mayOffload() && !stage.recompute &&
         stage.alternatives.empty() &&
         std::all_of(stage.devices.begin(), stage.devices.end(),
                     [&](size_t device) {
                       return problem.cluster.devices[device].hostBandwidth;
                     });
}

std::optional<Plan> LevelCurve::offloadAll(const Plan &plan,
                                           ExecutionOrder order) const {
  bool any = std::any_of(
      plan.stages.begin(), plan.stages.end(),
      [](const StagePlan &stage) { return !stage.offload.empty(); });
  bool asked = problem.offload == OffloadChoice::All && !problem.forwardOnly;
  if (!any && !asked)
    return std::nullopt;
  Plan result = plan;
  result.order = order;
  for (size_t s = 0; s < result.stages.size(); ++s) {
    StagePlan &stage = result.stages[s];
    if (!asked || !mayOffload(stage) || !stage.offload.empty())
      continue;
    std::vector<Bytes> before = memoryOf(problem, index, result, s, order);
    stage.offload = stage.layers;
    if (memoryOf(problem, index, result, s, order) < before)
      any = true;
    else
      stage.offload.clear();
  }
  return any ? std::optional(std::move(result)) : std::nullopt;
}

/// Seconds that recomputation and offloading add to a microbatch on `stage`.
Seconds LevelCurve::addedTo(const StagePlan &stage,
                            ExecutionOrder order) const {
  std::vector<double> shares = sharesOf(problem, stage);
  double share = *std::max_element(shares.begin(), shares.end());
  size_t deviceClass = classOf[stage.devices.front()];
  Seconds forward, backward, again;
  for (size_t i = 0; i < stage.layers.size(); ++i) {
    StageTimes times = timesOfLayer(problem, stage, i, deviceClass);
    forward += share * times.forward;
    backward += share * (times.inputGradient + times.weightGradient);
    again += share * problem.layers[stage.layers[i]].again(stage.levelOf(i),
                                                           deviceClass);
  }
  Seconds copying = copyingTime(problem, stage);
  Seconds beside = std::max(Seconds(), copying - backward);
  if (slotsLeaving(toString(order)) > 1) // Forwards run back to back.
    beside += std::max(Seconds(), copying - forward);
  return again + beside;
}

void LevelCurve::fitOffload(Plan &plan, size_t number, ExecutionOrder order,
                            const std::function<bool()> &fits) const {
  StagePlan &stage = plan.stages[number];
  const StagePlan before = stage;
  auto offload = [&](size_t count) {
    stage = before;
    stage.offload.assign(stage.layers.begin(),
                         stage.layers.begin() + std::ptrdiff_t(count));
  };
  size_t all = before.layers.size();
  size_t fewest = firstWhere(0, all, [&](size_t count) {
    offload(count);
    return fits();
  });
  // The max number of layers that costs nothing: one more adds time.
  Seconds alone = addedTo(before, order);
  size_t free = firstWhere(0, all, [&](size_t count) {
    offload(count + 1);
    return addedTo(stage, order) > alone;
  });

  std::optional<std::pair<Seconds, StagePlan>> best;
  for (size_t count : {size_t(0), fewest, free, all}) {
    offload(count);
    fit({{&stage, 1}}, classOf[stage.devices.front()], fits);
    if (Seconds added = addedTo(stage, order);
        fits() && (!best || added < best->first))
      best = {added, stage};
  }
  if (best)
    stage = std::move(best->second);
}

} // namespace stagewright
