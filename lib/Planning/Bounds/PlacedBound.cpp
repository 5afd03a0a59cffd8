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
// Layers are whole: of the j longest, none shorter than t_j, a rank has at most
//   n_r(T) = floor((T - head_r - rest_r) / (m t_j)),
// so that sum_r n_r(T) >= j, also where the next shorter layer takes its time
// on some rank; a rank of n of them has room for
// what they keep beside their parameters, or loses time (Ramp.h). The layers
// whose sums end the ranks' work are different ones: all ranks but q wait for
// the q-th smallest sum or a larger one.
//
//===----------------------------------------------------------------------===//

#include "Bounds/GroupBandwidths.h"
#include "Bounds/Ramp.h"
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

namespace {
/// The `count` longest layers: each takes at least `seconds` for a microbatch
/// and holds `bytes`; the next shorter one takes `other`.
struct Longest {
  double seconds, bytes = 0;
  size_t count = 0;
  double other = 0;
};

/// The ranks of one shape, in the order of their first layers.
struct Ranks {
  std::vector<double> heads, rests; ///< By rank.
  std::vector<double> sums;         ///< By layer, smallest first.
  double microbatches;
  /// All forwards, if a first microbatch has to pass them all before any
  /// backward; otherwise 0.
  double ramp;
  double memory;
  const Ramp &costs;

  /// What rank `r` loses as long as it runs forwards only, with `bytes` of
  /// parameters and the like.
  double loss(size_t r, double bytes) const {
    return costs.loss(ramp - heads[r], memory - bytes, microbatches);
  }

  double places(double time, const Longest &layers, size_t few,
                size_t busy) const;
  bool hold(const std::vector<Longest> &longest, double time) const;
  double leastTime(const std::vector<Longest> &longest, double atLeast) const;
};
} // namespace

/// How many lengths of layers are looked at.
static constexpr size_t kMostLengths = 4;
/// Layers at the ends of a model that may have less to sum than all others.
static constexpr size_t kFewSums = 2;
/// On more ranks it is not asked which of them runs the next shorter layer.
static constexpr size_t kMostBusy = 128;
static constexpr double kAllowance = 1e-9;

/// How many of `layers` ranks have time for at most, if all but `few` wait for
/// no smaller sum than that of this place, and rank `busy`, if there is one of
/// this number, runs the next shorter layer too.
double Ranks::places(double time, const Longest &layers, size_t few,
                     size_t busy) const {
  double all = 0;
  std::vector<double> gains;
  auto count = [&](size_t r, double sum) {
    double left = time - heads[r] - std::max(rests[r], sum) -
                  (r == busy ? microbatches * layers.other : 0);
    double each = microbatches * layers.seconds;
    auto fits = [&](double n) {
      double bytes = n * layers.bytes;
      return bytes <= memory && n * each + loss(r, bytes) <= left;
    };
    double n = std::clamp(std::floor(left / each + kAllowance), 0.0,
                          double(layers.count));
    while (n > 0 && !fits(n - kAllowance))
      --n;
    return n;
  };
  for (size_t r = 0; r < heads.size(); ++r) {
    double least = count(r, sums[std::min(few, sums.size() - 1)]);
    all += least;
    gains.push_back(count(r, sums.front()) - least);
  }
  std::sort(gains.rbegin(), gains.rend());
  for (size_t i = 0; i < std::min(few, gains.size()); ++i)
    all += gains[i];
  return all;
}

/// Whether the longest layers may be done in `time`.
bool Ranks::hold(const std::vector<Longest> &longest, double time) const {
  for (const Longest &layers : longest)
    for (size_t few : {size_t(0), kFewSums}) {
      size_t none = heads.size();
      auto areEnough = [&](size_t busy) {
        return places(time, layers, few, busy) >= double(layers.count);
      };
      if (!areEnough(none))
        return false;
      bool isOnOne = none > kMostBusy;
      for (size_t r = 0; r < none && !isOnOne; ++r)
        isOnOne = areEnough(r);
      if (!isOnOne)
        return false;
    }
  return true;
}

/// The least time from `atLeast` on in which hold(), to a millionth; infinite
/// where none is enough.
double Ranks::leastTime(const std::vector<Longest> &longest,
                        double atLeast) const {
  if (!(atLeast > 0) || hold(longest, atLeast))
    return atLeast;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!hold(longest, infinity)) // Memory holds fewer layers than there are.
    return infinity;
  double low = atLeast, high = 2 * atLeast;
  while (!hold(longest, high))
    low = high, high *= 2;
  while (high - low > 1e-6 * low) {
    double middle = (low + high) / 2;
    (hold(longest, middle) ? high : low) = middle;
  }
  return low;
}

/// Bytes that a layer needs wherever it lies, but for what others share.
static double bytesOf(const Problem &problem, int64_t layer) {
  double bytes = 0;
  for (const Resident &resident : problem.residents) {
    if (resident.kind == ResidentKind::PerMicrobatch ||
        resident.layers.empty() || resident.layers.front() != layer ||
        resident.layers.back() != layer)
      continue;
    bytes += double(problem.slotOf(resident.bytes).value);
    if (resident.kind == ResidentKind::Parameter)
      bytes += problem.model.optimizerState * double(resident.bytes.value);
  }
  return bytes;
}

/// The longest layers, for the few largest lengths.
static std::vector<Longest> longestOf(const Problem &problem,
                                      const std::vector<double> &total) {
  std::vector<size_t> order(total.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return total[a] > total[b]; });
  std::vector<Longest> longest;
  double bytes = std::numeric_limits<double>::infinity();
  for (size_t j = 0; j < order.size() && longest.size() < kMostLengths;) {
    double length = total[order[j]];
    if (!(length > 0))
      break;
    while (j < order.size() && total[order[j]] >= length * (1 - kAllowance)) {
      bytes = std::min(bytes, bytesOf(problem, int64_t(order[j])));
      length = total[order[j++]];
    }
    longest.push_back(
        {length, bytes, j, j < order.size() ? total[order[j]] : 0});
  }
  return longest;
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
        ramp.loss(each.ramp - heads / double(ranks),
                  double(room) - double(all.once) / double(ranks), most);
    if (time < best && each.hold(longest, best))
      best = each.leastTime(longest, time);
  }
  Seconds work = workLowerBound(problem);
  return std::isinf(best) ? work : std::max(Seconds(best), work);
}

} // namespace stagewright
