//===- WholeLayers.cpp - layers that are not cut --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bounds/WholeLayers.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace stagewright {

/// Max number of distinct times of layers that are considered.
static constexpr size_t kMostLengths = 4;
/// Number of layers, such as the first and the last, whose gradients may take
/// less time to sum than those of all others.
static constexpr size_t kFewSums = 2;
/// With more ranks, hold() does not check that one of them has time for the
/// next shorter layer too.
static constexpr size_t kMostBusy = 128;
static constexpr double kAllowance = 1e-9;

/// Max number of `layers` that the ranks have time for, if all ranks but `few`
/// wait for `sums[few]` or a larger sum, and rank `busy`, if it exists, also
/// runs the next shorter layer.
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

/// Whether the ranks have time for the longest layers. If false, no plan takes
/// only `time`.
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

/// Min time of at least `atLeast` for which hold() is true, minus at most 1e-6
/// of it; infinite if there is none.
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

/// Bytes that a layer needs on any device, without those shared with other
/// layers and without those per microbatch.
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

std::vector<Longest> longestOf(const Problem &problem,
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

} // namespace stagewright
