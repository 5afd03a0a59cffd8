//===- IntervalCosts.cpp - costs of layers [first, end) -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chains/IntervalCosts.h"
#include <algorithm>

namespace stagewright {

IntervalCosts::IntervalCosts(const Problem &problem, const Network &network)
    : problem(problem), network(network), held(problem, /*recompute=*/false) {
  std::vector<size_t> classes = problem.cluster.classOfDevices();
  for (int64_t stage = 0; stage < problem.stages; ++stage) {
    int64_t least = problem.microbatches;
    for (ExecutionOrder order : problem.orders)
      least = std::min(least, inFlightOf(order, problem.stages - stage,
                                         problem.microbatches));
    inFlight.push_back(problem.forwardOnly ? 0 : least);
    classOf.push_back(classes[stage]);
  }
  sumTimes();
  sumCuts();
}

void IntervalCosts::sumTimes() {
  size_t classes = problem.layers.front().times.size();
  prefix.assign(classes, std::vector<StageTimes>(problem.layers.size() + 1));
  for (size_t c = 0; c < classes; ++c)
    for (size_t layer = 0; layer < problem.layers.size(); ++layer) {
      StageTimes &sum = prefix[c][layer + 1];
      const StageTimes &times = problem.layers[layer].times[c];
      sum = prefix[c][layer];
      sum.forward += times.forward;
      sum.inputGradient += times.inputGradient;
      sum.weightGradient += times.weightGradient;
    }
}

StageTimes IntervalCosts::times(int64_t stage, int64_t first,
                                int64_t end) const {
  const StageTimes &high = prefix[classOf[stage]][end];
  const StageTimes &low = prefix[classOf[stage]][first];
  return {high.forward - low.forward, high.inputGradient - low.inputGradient,
          high.weightGradient - low.weightGradient};
}

void IntervalCosts::sumCuts() {
  // A value crosses every cut between its producer and its last use once,
  // forward, and every cut between its producer and an earlier first use once,
  // backward.
  size_t cuts = problem.layers.size() + 1;
  forwardBytes.assign(cuts, 0);
  backwardBytes.assign(cuts, 0);
  for (const LayerValue &value : problem.values) {
    int64_t low = value.producer.layer, high = low;
    for (const LayerPhase &use : value.uses) {
      low = std::min(low, use.layer);
      high = std::max(high, use.layer);
    }
    for (int64_t cut = low + 1; cut <= high; ++cut)
      (cut > value.producer.layer ? forwardBytes : backwardBytes)[cut] +=
          value.bytes.value;
  }
}

Seconds IntervalCosts::transfer(int64_t stage, int64_t cut) const {
  Seconds time;
  for (int64_t bytes : {forwardBytes[cut], backwardBytes[cut]})
    time +=
        transferTime(network, size_t(stage - 1), size_t(stage), Bytes(bytes));
  return time;
}

Bytes IntervalCosts::memory(int64_t stage, int64_t first, int64_t end) const {
  return held.at(first, end, 0).with(inFlight[stage], problem.microbatches, 1);
}

} // namespace stagewright
