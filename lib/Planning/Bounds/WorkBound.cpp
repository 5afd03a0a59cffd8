//===- WorkBound.cpp - lower bound on all plans ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Bounds.h"
#include <algorithm>
#include <limits>

namespace stagewright {

bool isOfFamily(const Plan &plan) {
  if (!plan.schedule.empty())
    return false;
  std::vector<size_t> devices;
  for (const StagePlan &stage : plan.stages) {
    if (!stage.alternatives.empty() || stage.layers.empty() ||
        stage.layers.back() - stage.layers.front() + 1 !=
            int64_t(stage.layers.size()))
      return false;
    devices.insert(devices.end(), stage.devices.begin(), stage.devices.end());
  }
  std::sort(devices.begin(), devices.end());
  return std::adjacent_find(devices.begin(), devices.end()) == devices.end();
}

/// Min device seconds of `layer` for one microbatch, summed over the devices
/// that an alternative uses.
static double leastSeconds(const Layer &layer, bool forwardOnly,
                           double fastest) {
  double least = std::numeric_limits<double>::infinity();
  for (const StageTimes &times : layer.times)
    least = std::min(least,
                     forwardOnly ? times.forward.value : times.total().value);
  // The forward time of alternatives is not known.
  if (forwardOnly && !layer.alternatives.empty())
    return 0;
  for (const Alternative &way : layer.alternatives)
    least = std::min(least, double(way.ways) * way.time.value / fastest);
  return least;
}

Seconds workLowerBound(const Problem &problem) {
  double fastest = 0, sum = 0;
  for (const Device &device : problem.cluster.devices)
    fastest = std::max(fastest, device.speed);
  for (const Layer &layer : problem.layers)
    sum += leastSeconds(layer, problem.forwardOnly, fastest);
  return Seconds(double(problem.microbatches) * sum /
                 double(problem.cluster.devices.size()));
}

} // namespace stagewright
