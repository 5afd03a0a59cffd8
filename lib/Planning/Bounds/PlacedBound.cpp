//===- PlacedBound.cpp - what no plan of equal pipelines can beat ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pipeline of p ranks, of k side by side, runs m = ceil(M / k) microbatches
// through layers that each take their fewest seconds t. Before rank r, counted
// by its first layer, come r layers at least, whose forwards a first
// microbatch passes before the rank has any work, and whose backwards come
// after its last B, which is that of its first stage; and what k replicas sum
// of that stage's first layer is whole then, not before. Where W run apart, the
// last one may be any. Hence T >= head_r + work_r + rest_r; over all ranks
//   T >= (m sum t + sum_r (head_r + rest_r)) / p.
// Layers are whole, too (WholeLayers.h).
//
//===----------------------------------------------------------------------===//

#include "Bounds/GroupBandwidths.h"
#include "Bounds/WholeLayers.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Scheduling/Replicas.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace stagewright {

namespace {
/// What the layers take at least, wherever they lie.
struct LeastTimes {
  LeastTimes(const Problem &problem, const Network &network);
  /// Of the gradients of a layer, over `replicas` devices, smallest first.
  std::vector<double> sums(const Problem &problem, int64_t replicas) const;

  std::vector<double> total;             ///< By layer.
  std::vector<double> forward, backward; ///< Of all layers before.
  bool comes = true, returns = true;     ///< Each layer feeds the next.
  std::vector<double> bandwidths;        ///< Of groups, by their size.
};
} // namespace

LeastTimes::LeastTimes(const Problem &problem, const Network &network)
    : forward{0}, backward{0}, bandwidths(groupBandwidths(network)) {
  size_t layers = problem.layers.size();
  std::vector<bool> feeds(layers, false), gets(layers, false);
  for (const Value &value : problem.values)
    for (const LayerPhase &use : value.uses) {
      bool isForward = value.producer.phase == ActionKind::Forward;
      if (isForward && use.layer == value.producer.layer + 1 &&
          use.phase == ActionKind::Forward)
        feeds[use.layer] = true;
      if (!isForward && use.layer == value.producer.layer - 1)
        gets[value.producer.layer] = true;
    }
  for (size_t l = 1; l < layers; ++l) {
    comes &= feeds[l];
    returns &= gets[l];
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const Layer &layer : problem.layers) {
    double all = infinity, ahead = infinity, back = infinity;
    for (const StageTimes &times : layer.times) {
      ahead = std::min(ahead, times.forward.value);
      back = std::min(back, times.total().value - times.forward.value);
      all = std::min(all, problem.forwardOnly ? times.forward.value
                                              : times.total().value);
    }
    total.push_back(all);
    forward.push_back(forward.back() + ahead);
    backward.push_back(backward.back() + back);
  }
}

std::vector<double> LeastTimes::sums(const Problem &problem,
                                     int64_t replicas) const {
  std::vector<double> seconds(total.size(), 0);
  if (replicas < 2 || problem.forwardOnly)
    return seconds;
  double part = 2 * double(replicas - 1) / double(replicas);
  for (const Resident &resident : problem.residents)
    for (size_t i = 0; i < resident.layers.size(); ++i)
      if (resident.kind == ResidentKind::Gradient &&
          (i == 0 || resident.layers[i] != resident.layers[i - 1]))
        seconds[resident.layers[i]] +=
            part * double(resident.bytes.value) / bandwidths[replicas];
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

Seconds placedLowerBound(const Problem &problem, const Network &network,
                         const std::vector<PipelineShape> &shapes,
                         bool splitsBackward) {
  LeastTimes least(problem, network);
  std::vector<Longest> longest = longestOf(problem, least.total);
  double sum = std::accumulate(least.total.begin(), least.total.end(), 0.0);
  bool ramps = least.comes && least.returns && !problem.forwardOnly;
  Ramp ramp(problem);
  StageMemory all = stageMemory(
      problem, std::vector<bool>(problem.layers.size(), true), false);
  int64_t room = 0;
  for (const Device &device : problem.cluster.devices)
    room = std::max(room, device.memory.value);
  double best = std::numeric_limits<double>::infinity();
  for (const auto &[ranks, pipelines] : shapes) {
    // Every rank has a layer, and every parameter lies on some rank.
    if (ranks > int64_t(least.total.size()) || all.once / ranks > room)
      continue;
    auto most = double(microbatchesOf(0, pipelines, problem.microbatches));
    Ranks each{{},
               {},
               least.sums(problem, pipelines),
               most,
               ramps ? least.forward.back() : 0,
               double(room),
               ramp};
    double heads = 0, rests = 0, summed = 0;
    for (int64_t r = 0; r < ranks; ++r) {
      bool waits = least.returns && !problem.forwardOnly && !splitsBackward;
      each.heads.push_back(least.comes ? least.forward[r] : 0);
      each.rests.push_back(waits ? least.backward[r] : 0);
      heads += each.heads.back(), rests += each.rests.back();
      summed += each.sums[r];
    }
    double waits = heads + std::max(rests, summed);
    // What all lose is no less than of equal ranks: loss() is convex.
    double time =
        (most * sum + waits) / double(ranks) +
        ramp.loss(each.firstPass - heads / double(ranks),
                  double(room) - double(all.once) / double(ranks), most);
    if (time < best && each.hold(longest, best))
      best = each.leastTime(longest, time);
  }
  Seconds work = workLowerBound(problem);
  return std::isinf(best) ? work : std::max(Seconds(best), work);
}

} // namespace stagewright
