//===- WorkBound.cpp - what no plan at all can beat -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Bounds.h"
#include <algorithm>

namespace stagewright {

bool isChainOfOwnDevices(const Plan &plan) {
  std::vector<size_t> devices;
  for (const StagePlan &stage : plan.stages) {
    if (stage.layers.back() - stage.layers.front() + 1 !=
        int64_t(stage.layers.size()))
      return false;
    devices.insert(devices.end(), stage.devices.begin(), stage.devices.end());
  }
  std::sort(devices.begin(), devices.end());
  return std::adjacent_find(devices.begin(), devices.end()) == devices.end();
}

Seconds workLowerBound(const Problem &problem) {
  double sum = 0;
  for (const Layer &layer : problem.layers) {
    double least = layer.times.front().total().value;
    for (const StageTimes &times : layer.times)
      least = std::min(least, problem.forwardOnly ? times.forward.value
                                                  : times.total().value);
    sum += least;
  }
  return Seconds(double(problem.microbatches) * sum /
                 double(problem.cluster.devices.size()));
}

} // namespace stagewright
