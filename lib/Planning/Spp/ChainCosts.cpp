//===- ChainCosts.cpp - prefix sums over a chain of layers ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/ChainCosts.h"
#include <algorithm>

namespace stagewright {

static void addTraffic(const Problem &problem, double bandwidth,
                       bool surelyNext, std::vector<CutTraffic> &cuts) {
  for (const LayerValue &value : problem.values) {
    if (problem.forwardOnly && value.producer.phase != ActionKind::Forward)
      continue;
    double bytes = value.transfer ? value.transfer->value * bandwidth
                                  : double(value.bytes.value);
    int64_t producer = value.producer.layer, low = producer, high = producer;
    for (const LayerPhase &use : value.uses) {
      if (surelyNext && std::abs(use.layer - producer) != 1)
        continue;
      low = std::min(low, use.layer);
      high = std::max(high, use.layer);
    }
    for (int64_t cut = low + 1; cut <= high; ++cut) {
      bool forward = cut > producer;
      (forward ? cuts[cut].forwardBytes : cuts[cut].backwardBytes) += bytes;
      (forward ? cuts[cut].hasForward : cuts[cut].hasBackward) |= bytes > 0;
    }
  }
}

ChainCosts::ChainCosts(const Problem &problem, const Network &network,
                       bool surelyNext)
    : layers(problem.layers.size()), microbatches(double(problem.microbatches)),
      forwardOnly(problem.forwardOnly), halfDuplex(problem.model.halfDuplex),
      overlapAllReduce(problem.model.overlapAllReduce) {
  size_t classes = problem.layers.front().times.size();
  forward.assign(classes, std::vector<double>(layers + 1, 0));
  backward = forward;
  for (size_t c = 0; c < classes; ++c)
    for (size_t l = 0; l < layers; ++l) {
      const StageTimes &times = problem.layers[l].times[c];
      forward[c][l + 1] = forward[c][l] + times.forward.value;
      double back = (times.inputGradient + times.weightGradient).value;
      backward[c][l + 1] = backward[c][l] + (forwardOnly ? 0 : back);
    }
  again.assign(classes, {});
  for (size_t c = 0; c < classes; ++c)
    for (int64_t level = 0; level <= problem.mostLevels(); ++level) {
      std::vector<double> &sum = again[c].emplace_back(layers + 1, 0);
      for (size_t l = 0; l < layers; ++l) {
        const Layer &layer = problem.layers[l];
        int64_t own = std::min(level, int64_t(layer.levels.size()));
        sum[l + 1] = sum[l] + layer.again(own, c).value;
      }
    }
  std::vector<double> gradients(layers, 0);
  for (const Resident &resident : problem.residents)
    if (resident.kind == ResidentKind::Gradient && !resident.layers.empty() &&
        !forwardOnly)
      gradients[resident.layers.front()] += double(resident.bytes.value);
  gradientBytes.assign(layers + 1, 0);
  gradientLayers = gradientBytes;
  unsliceable.assign(layers + 1, 0);
  for (size_t l = 0; l < layers; ++l) {
    gradientBytes[l + 1] = gradientBytes[l] + gradients[l];
    gradientLayers[l + 1] = gradientLayers[l] + (gradients[l] > 0);
    unsliceable[l + 1] = unsliceable[l] + !problem.slices(l);
  }
  cuts.assign(layers + 1, {});
  addTraffic(problem, network.largestBandwidth(), surelyNext, cuts);
  feeds.assign(layers + 1, false);
  returns = feeds;
  for (const LayerValue &value : problem.values)
    for (const LayerPhase &use : value.uses) {
      int64_t producer = value.producer.layer;
      if (use.layer == producer + 1 &&
          value.producer.phase == ActionKind::Forward)
        feeds[use.layer] = true;
      if (use.layer == producer - 1 &&
          value.producer.phase != ActionKind::Forward)
        returns[producer] = true;
    }
}

} // namespace stagewright
