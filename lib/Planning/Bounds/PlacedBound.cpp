//===- PlacedBound.cpp - lower bound for equal pipelines ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of k parallel pipelines of p ranks, consider one with the most microbatches.
// It runs m = ceil(M / k) of them through layers that take at least t seconds
// each. Number the ranks by their first layers, so that at least r layers come
// before those of rank r. A first microbatch passes the forwards of these
// layers before the rank has any work (head_r). The rank's last B is that of
// its first stage. After it come the backwards of these r layers, and the sum
// over k replicas of the gradients of the stage's first layer (rest_r is the
// longer of the two). If W may run apart from I, the last action may be any W,
// and only the sum follows. Hence T >= head_r + work_r + rest_r, and over all
// ranks
//   T >= (m sum t + sum_r (head_r + rest_r)) / p.
// No layer's gradients are complete before all m microbatches have passed all
// forwards, and a rank sums the gradients of its layers one after the other:
//   T >= (sum_r head_r + m sum F + sums of all gradients) / p.
// Whichever rank has a layer l, its F and I of all microbatches come after the
// forwards of the layers before it for one microbatch, and before their I:
//   T >= sum_{j<l} F_j + m (F_l + I_l) + sum_{j<l} I_j.
// The bound is raised further because layers cannot be divided (WholeLayers.h).
//
//===----------------------------------------------------------------------===//

#include "Bounds/GroupBandwidths.h"
#include "Bounds/WholeLayers.h"
#include "LayerIndex.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Scheduling/Replicas.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace stagewright {

namespace {
/// Min seconds of the layers on any devices.
struct LeastTimes {
  LeastTimes(const Problem &problem, const Network &network);
  /// Seconds to sum a layer's gradients over `replicas` devices, smallest
  /// first.
  std::vector<double> sums(const Problem &problem, int64_t replicas) const;
  /// The bound for one layer at the top of this file, max over the layers.
  double path(double microbatches, bool splitsBackward) const;
  /// Seconds to sum all gradients, each once.
  double sumOfAll(const Problem &problem, int64_t replicas) const;

  std::vector<double> total;             ///< By layer.
  std::vector<double> forward, backward; ///< Of all layers before it.
  std::vector<double> inputGradient;     ///< Likewise.
  bool comes = true, returns = true;     ///< F, B of all layers form a chain.
  std::vector<double> bandwidths;        ///< Of groups, by their size.
};
} // namespace

LeastTimes::LeastTimes(const Problem &problem, const Network &network)
    : forward{0}, backward{0}, inputGradient{0},
      bandwidths(groupBandwidths(network)) {
  size_t layers = problem.layers.size();
  std::vector<bool> feeds(layers, false), gets(layers, false);
  for (const LayerValue &value : problem.values)
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
    double all = infinity, ahead = infinity, back = infinity, only = infinity;
    for (const StageTimes &times : layer.times) {
      ahead = std::min(ahead, times.forward.value);
      back = std::min(back, times.total().value - times.forward.value);
      only = std::min(only, times.inputGradient.value);
      all = std::min(all, problem.forwardOnly ? times.forward.value
                                              : times.total().value);
    }
    total.push_back(all);
    forward.push_back(forward.back() + ahead);
    backward.push_back(backward.back() + back);
    inputGradient.push_back(inputGradient.back() + only);
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

double LeastTimes::path(double microbatches, bool splitsBackward) const {
  const std::vector<double> &back = splitsBackward ? inputGradient : backward;
  double longest = 0;
  for (size_t l = 0; l < total.size(); ++l) {
    double own = forward[l + 1] - forward[l] + back[l + 1] - back[l];
    longest = std::max(longest, forward[l] + microbatches * own + back[l]);
  }
  return longest;
}

double LeastTimes::sumOfAll(const Problem &problem, int64_t replicas) const {
  if (replicas < 2)
    return 0;
  double part = 2 * double(replicas - 1) / double(replicas);
  return part * double(problem.gradients().value) /
         bandwidths[size_t(replicas)];
}

namespace {
/// The bounds of single shapes.
class ShapeBounds {
public:
  ShapeBounds(const Problem &problem, const Network &network,
              bool splitsBackward);

  /// Whether the bound of a shape is below `limit`.
  bool isBelow(const PipelineShape &shape, double limit) const {
    return bound(shape, limit, /*exact=*/false) < limit;
  }
  /// The bound of a shape, or infinity if it is not below `limit`.
  double below(const PipelineShape &shape, double limit) const {
    return bound(shape, limit, /*exact=*/true);
  }

private:
  double bound(const PipelineShape &shape, double limit, bool exact) const;

  const Problem &problem;
  bool splitsBackward;
  LeastTimes least;
  std::vector<Longest> longest;
  Ramp ramp;
  double sum;       ///< Of all layers.
  bool ramps;       ///< A microbatch passes all forwards before any backward.
  int64_t once;     ///< Bytes of all layers without any microbatch.
  int64_t largest;  ///< The same, max of one layer.
  int64_t room = 0; ///< Of the device with the most memory.
};
} // namespace

ShapeBounds::ShapeBounds(const Problem &problem, const Network &network,
                         bool splitsBackward)
    : problem(problem), splitsBackward(splitsBackward), least(problem, network),
      longest(longestOf(problem, least.total)), ramp(problem),
      sum(std::accumulate(least.total.begin(), least.total.end(), 0.0)),
      ramps(least.comes && least.returns && !problem.forwardOnly),
      once(memoryOfAll(problem).once), largest(mostOfOneLayer(problem)) {
  for (const Device &device : problem.cluster.devices)
    room = std::max(room, device.memory.value);
}

double ShapeBounds::bound(const PipelineShape &shape, double limit,
                          bool exact) const {
  const auto &[ranks, pipelines] = shape;
  constexpr double kNone = std::numeric_limits<double>::infinity();
  // Skip shapes with more ranks than layers, or on which the layers do not fit
  // in memory.
  if (ranks > int64_t(least.total.size()) || once / ranks > room ||
      largest > room)
    return kNone;
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
  double passes = ramps ? heads + most * least.forward.back() +
                              least.sumOfAll(problem, pipelines)
                        : 0;
  // Since loss() is convex, the ranks lose at least what equal ranks would.
  double time = (most * sum + waits) / double(ranks) +
                ramp.loss(each.firstPass - heads / double(ranks),
                          double(room) - double(once) / double(ranks), most);
  time = std::max(time, passes / double(ranks));
  if (ramps)
    time = std::max(time, least.path(most, splitsBackward));
  if (!(time < limit) || !each.hold(longest, limit))
    return kNone;
  return exact ? each.leastTime(longest, time) : time;
}

Seconds placedLowerBound(const Problem &problem, const Network &network,
                         const std::vector<PipelineShape> &shapes,
                         bool splitsBackward) {
  ShapeBounds bounds(problem, network, splitsBackward);
  double best = std::numeric_limits<double>::infinity();
  for (const PipelineShape &shape : shapes)
    best = std::min(best, bounds.below(shape, best));
  return std::max(Seconds(best), workLowerBound(problem));
}

std::vector<PipelineShape> shapesBelow(const Problem &problem,
                                       const Network &network,
                                       std::vector<PipelineShape> shapes,
                                       bool splitsBackward, Seconds limit) {
  if (!(workLowerBound(problem) < limit))
    return {};
  ShapeBounds bounds(problem, network, splitsBackward);
  std::erase_if(shapes, [&](const PipelineShape &shape) {
    return !bounds.isBelow(shape, limit.value);
  });
  return shapes;
}

} // namespace stagewright
