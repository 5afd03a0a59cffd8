//===- FamilyBlocks.cpp - blocks that no device list can beat -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bounds/Family.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace stagewright {

/// Every layer takes what the fastest class takes; returns how fast each class
/// is at most in relation to that, over all layers and both directions.
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

/// The narrowest width of each class of widths: all of them, or on a large
/// cluster all up to 16 and then in steps of at most an eighth.
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
  // by layer on the slowest replica; only where all layers agree which one that
  // is does their sum say something about the stage.
  if (!isProportional && costs.overlapAllReduce)
    std::fill(costs.gradientBytes.begin(), costs.gradientBytes.end(), 0);
  addBlocks(problem, network);
}

/// Between any two of r devices lies a link no faster than entry r: where
/// devices are joined from the fastest link down, it is the link that first
/// makes a group of r.
static std::vector<double> groupBandwidths(const Network &network) {
  size_t count = network.size();
  std::vector<double> best(count + 1, network.largestBandwidth());
  // A maximum spanning tree, grown from each device's fastest link (Prim);
  // then its links from the fastest down.
  std::vector<double> link(count, 0);
  std::vector<size_t> from(count, 0), root(count), size(count, 1);
  std::vector<bool> isIn(count, false);
  std::vector<std::tuple<double, size_t, size_t>> tree;
  for (size_t next = 0, grown = 0; grown < count; ++grown) {
    isIn[next] = true;
    if (grown > 0)
      tree.push_back({link[next], from[next], next});
    size_t best = count;
    for (size_t v = 0; v < count; ++v) {
      if (isIn[v])
        continue;
      if (network.bandwidth(next, v) > link[v]) {
        link[v] = network.bandwidth(next, v);
        from[v] = next;
      }
      if (best == count || link[v] > link[best])
        best = v;
    }
    next = best;
  }
  std::sort(tree.rbegin(), tree.rend());
  std::iota(root.begin(), root.end(), 0);
  auto find = [&](size_t v) {
    while (root[v] != v)
      v = root[v] = root[root[v]];
    return v;
  };
  size_t largest = 1;
  for (auto [bandwidth, a, b] : tree) {
    a = find(a), b = find(b);
    root[a] = b;
    size[b] += size[a];
    for (; largest < size[b]; ++largest)
      best[largest + 1] = bandwidth;
  }
  return best;
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
      // In turn, transfers go side by side over as many links as the wider of
      // both stages has devices.
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
      if (widths[c] > 1 && !costs.unsliceable.back()) {
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
