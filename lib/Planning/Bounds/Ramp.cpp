//===- Ramp.cpp - time lost to lack of memory -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bounds/Ramp.h"
#include "FitLevels.h"
#include <algorithm>

namespace stagewright {

/// Max number of prices tried, chosen evenly among all at which some layer
/// changes its level.
static constexpr size_t kMostPrices = 16;

namespace {
/// One way to run a layer, per second of its forward: the bytes it keeps, and 1
/// minus the seconds of recomputation.
struct Way {
  double bytes, gain;
};
} // namespace

/// The ways of each layer: every level on every class of devices.
static std::vector<std::vector<Way>> waysOf(const Problem &problem) {
  std::vector<std::vector<double>> kept = bytesKept(problem);
  std::vector<std::vector<Way>> ways(problem.layers.size());
  for (size_t l = 0; l < ways.size(); ++l) {
    const Layer &layer = problem.layers[l];
    for (size_t c = 0; c < layer.times.size(); ++c)
      for (size_t level = 0; level < kept[l].size(); ++level)
        if (double seconds = layer.times[c].forward.value; seconds > 0)
          ways[l].push_back(
              {kept[l][level] / seconds,
               1 - layer.again(int64_t(level), c).value / seconds});
  }
  return ways;
}

/// Prices of a byte at which two ways of a layer, or a way and not running the
/// layer, are worth the same.
static std::vector<double> pricesOf(const std::vector<std::vector<Way>> &ways) {
  std::vector<double> prices = {0};
  for (const std::vector<Way> &layer : ways)
    for (const Way &more : layer) {
      if (more.bytes > 0 && more.gain > 0)
        prices.push_back(more.gain / more.bytes);
      for (const Way &less : layer)
        if (more.bytes > less.bytes && more.gain > less.gain)
          prices.push_back((more.gain - less.gain) / (more.bytes - less.bytes));
    }
  std::sort(prices.begin(), prices.end());
  auto isSame = [](double a, double b) { return b <= a * (1 + 1e-6); };
  prices.erase(std::unique(prices.begin(), prices.end(), isSame), prices.end());
  if (prices.size() <= kMostPrices)
    return prices;
  std::vector<double> some;
  for (size_t i = 0; i < kMostPrices; ++i)
    some.push_back(prices[i * (prices.size() - 1) / (kMostPrices - 1)]);
  return some;
}

Ramp::Ramp(const Problem &problem) {
  std::vector<std::vector<Way>> ways = waysOf(problem);
  for (double price : pricesOf(ways)) {
    std::vector<std::pair<double, double>> layers; // Worth and seconds.
    for (size_t l = 0; l < ways.size(); ++l) {
      double worth = 0, seconds = 0;
      for (const Way &way : ways[l])
        worth = std::max(worth, way.gain - price * way.bytes);
      for (const StageTimes &times : problem.layers[l].times)
        seconds = std::max(seconds, times.forward.value);
      layers.push_back({worth, seconds});
    }
    std::sort(layers.rbegin(), layers.rend());
    Worth sums{price, {0}, {0}};
    for (auto [worth, seconds] : layers) {
      sums.seconds.push_back(sums.seconds.back() + seconds);
      sums.worth.push_back(sums.worth.back() + worth * seconds);
    }
    prices.push_back(std::move(sums));
  }
}

/// Max worth of `time` seconds of forwards.
double Ramp::Worth::of(double time) const {
  auto after = std::upper_bound(seconds.begin(), seconds.end(), time);
  if (after == seconds.end())
    return worth.back();
  auto i = size_t(after - seconds.begin());
  double part = (time - seconds[i - 1]) / (seconds[i] - seconds[i - 1]);
  return worth[i - 1] + part * (worth[i] - worth[i - 1]);
}

double Ramp::loss(double seconds, double room, double microbatches) const {
  double most = 0;
  for (const Worth &worth : prices)
    most = std::max(most, seconds - worth.price * room -
                              microbatches * worth.of(seconds / microbatches));
  return most;
}

} // namespace stagewright
