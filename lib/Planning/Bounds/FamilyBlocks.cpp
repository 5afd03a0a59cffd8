//===- FamilyBlocks.cpp - relaxed blocks of devices for the bounds --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bounds/Family.h"
#include "Bounds/GroupBandwidths.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace stagewright {

/// Gives every layer the time of the class of devices that is fastest at it.
/// Returns the speed of each class relative to the fastest, the max over all
/// layers and both directions. Sets `isProportional` to whether this speed is
/// the same for all layers.
static std::vector<double> keepFastest(ChainCosts &costs,
                                       bool &isProportional) {
  size_t classes = costs.forward.size();
  std::vector<double> speed(classes, 0), slowest(classes, 1);
  std::vector<std::vector<double>> least;
  for (auto *sums : {&costs.forward, &costs.backward}) {
    std::vector<double> fastest(costs.layers + 1, 0);
    for (size_t l = 0; l < costs.layers; ++l) {
      double time = std::numeric_limits<double>::infinity();
      for (size_t c = 0; c < classes; ++c)
        time = std::min(time, (*sums)[c][l + 1] - (*sums)[c][l]);
      time = std::max(time, 0.0);
      fastest[l + 1] = fastest[l] + time;
      for (size_t c = 0; c < classes; ++c) {
        double own = (*sums)[c][l + 1] - (*sums)[c][l];
        if (!(own > 0))
          continue;
        speed[c] = std::max(speed[c], time / own);
        slowest[c] = std::min(slowest[c], time / own);
      }
    }
    least.push_back(std::move(fastest));
  }
  isProportional = true;
  for (size_t c = 0; c < classes; ++c) {
    if (speed[c] == 0) // Takes no time at all.
      speed[c] = 1;
    isProportional &= slowest[c] > speed[c] * (1 - 1e-9) || classes == 1;
    speed[c] = classes == 1 ? 1 : std::min(1.0, speed[c] * (1 + 1e-12));
  }
  costs.forward = {std::move(least[0])};
  costs.backward = {std::move(least[1])};
  return speed;
}

/// The smallest width of each class of widths. Each width is a class of its own
/// if `all`; otherwise (on large clusters) classes from width 16 on span at
/// most an eighth of their smallest width.
static std::vector<size_t> widthClasses(size_t most, bool all) {
  std::vector<size_t> widths;
  for (size_t w = 1; w <= most; w += all || w < 16 ? 1 : w / 8)
    widths.push_back(w);
  return widths;
}

Family::Family(const Problem &problem, const Network &network)
    : costs(problem, network, /*surelyNext=*/true) {
  bool isProportional = true;
  std::vector<double> classSpeed = keepFastest(costs, isProportional);
  for (size_t c : problem.cluster.classOfDevices())
    speeds.push_back(classSpeed[c]);
  std::sort(speeds.rbegin(), speeds.rend());
  // The backwards that still run while gradients are reduced are counted layer
  // by layer on the slowest replica. Only if that replica is the same for all
  // layers is their sum a bound for the stage.
  if (!isProportional && costs.overlapAllReduce)
    std::fill(costs.gradientBytes.begin(), costs.gradientBytes.end(), 0);
  addBlocks(problem, network);
}

void Family::addBlocks(const Problem &problem, const Network &network) {
  size_t count = problem.cluster.devices.size(), most = count;
  if (problem.maxReplicas > 0)
    most = std::min(most, size_t(problem.maxReplicas));
  blocks.devices = count;
  blocks.maxWidth = most;
  std::vector<size_t> widths =
      widthClasses(most, count <= kMostDevicesOfAllRuns);
  widths.push_back(most + 1);
  double bandwidth = network.largestBandwidth();
  std::vector<double> reduceBandwidth = groupBandwidths(network);
  double latency = std::numeric_limits<double>::infinity();
  for (size_t a = 0; a < count; ++a)
    for (size_t b = a + 1; b < count; ++b)
      latency = std::min(latency, network.latency(a, b));
  bool oneClass = speeds.front() == speeds.back();
  double speed = 0;
  std::vector<double> sum = {0};
  for (double s : speeds)
    sum.push_back(speed += s);
  size_t classes = widths.size() - 1;
  auto highest = [&](size_t c) { return widths[c + 1] - 1; };
  for (size_t a = 0; a < classes; ++a)
    for (size_t b = 0; b < classes; ++b) {
      size_t r = highest(a), q = highest(b);
      // If replicas take turns, transfers run in parallel on as many links as
      // the wider of the two stages has devices.
      size_t links = costs.unsliceable.back() ? std::max(r, q) : std::min(r, q);
      blocks.pairs.push_back(
          {1 / (bandwidth * double(links)),
           costs.unsliceable.back() ? latency / double(links) : latency});
    }
  std::vector<size_t> beginOf = {0};
  for (size_t used = 0; used <= count; ++used) {
    for (size_t c = 0; c < classes && widths[c] <= used; ++c) {
      PrmBlock block;
      block.used = used;
      block.width = widths[c];
      block.share = 1 / sum[highest(c)];
      if (oneClass && problem.samples > 0) {
        double samples = double(problem.samples);
        block.share = std::ceil(samples / double(highest(c)) - 1e-9) / samples;
      }
      block.turnShare =
          std::ceil(costs.microbatches / double(highest(c)) - 1e-9) /
          costs.microbatches;
      double steps = 2 * double(widths[c] - 1);
      // The tail is not known if only some layers can be sliced, or if replicas
      // of unequal speed take turns: it starts after the slowest backward.
      if (widths[c] > 1 &&
          (!costs.unsliceable.back() || (costs.allTurns() && oneClass))) {
        block.reducePerByte =
            steps / double(widths[c]) / reduceBandwidth[widths[c]];
        block.reduceLatency = steps * latency;
      }
      block.nextBegin = beginOf[used - widths[c]];
      block.nextEnd = beginOf[used - widths[c] + 1];
      block.pairBegin = c * classes;
      blocks.blocks.push_back(block);
    }
    beginOf.push_back(blocks.blocks.size());
  }
}

} // namespace stagewright
