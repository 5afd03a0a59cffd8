//===- Shares.cpp - shares, turns and routes of microbatches --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Evaluate.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace stagewright {

StagePlan stageOf(int64_t first, int64_t end, std::vector<size_t> devices) {
  StagePlan stage;
  for (int64_t layer = first; layer < end; ++layer)
    stage.layers.push_back(layer);
  stage.devices = std::move(devices);
  return stage;
}

bool takesTurns(const Problem &problem, const StagePlan &stage) {
  return stage.devices.size() > 1 &&
         std::any_of(stage.layers.begin(), stage.layers.end(),
                     [&](int64_t layer) { return !problem.slices(layer); });
}

int64_t turnsOf(const Problem &problem, const StagePlan &stage) {
  return takesTurns(problem, stage) ? int64_t(stage.devices.size()) : 1;
}

int64_t routesOf(const Problem &problem, const Plan &plan) {
  int64_t routes = 1;
  for (const StagePlan &stage : plan.stages)
    if (routes <= kMostRoutes)
      routes = std::lcm(routes, turnsOf(problem, stage));
  return routes;
}

/// Rounds `shares` to whole samples, `samples` in total. First every share is
/// rounded down, but to at least one sample if there are enough samples. Then
/// each remaining sample goes to the replica that would finish first with it,
/// in a tie to the lower one. This minimises the last finish.
static std::vector<double> wholeSamples(const std::vector<double> &shares,
                                        int64_t samples) {
  int64_t least = samples >= int64_t(shares.size()) ? 1 : 0;
  auto roundDown = [&](double share) {
    return std::max(least, int64_t(std::floor(share * double(samples) + 1e-9)));
  };
  std::vector<int64_t> counts;
  for (double share : shares)
    counts.push_back(roundDown(share));
  int64_t left =
      samples - std::accumulate(counts.begin(), counts.end(), int64_t(0));
  if (left < 0) { // Very slow replicas got more than their share.
    counts.assign(shares.size(), 1);
    left = samples - int64_t(shares.size());
  }
  for (; left > 0; --left) {
    // The replica that would finish first with one more sample.
    size_t best = 0;
    for (size_t i = 1; i < shares.size(); ++i)
      if (double(counts[i] + 1) / shares[i] <
          double(counts[best] + 1) / shares[best] * (1 - 1e-12))
        best = i;
    ++counts[best];
  }
  std::vector<double> whole;
  for (int64_t count : counts)
    whole.push_back(double(count) / double(samples));
  return whole;
}

std::vector<double> sharesOf(const std::vector<double> &seconds,
                             const CostModel &model, int64_t samples) {
  size_t replicas = seconds.size();
  std::vector<double> shares(replicas, 1.0 / double(replicas));
  bool isEqual = std::all_of(seconds.begin(), seconds.end(),
                             [&](double s) { return s == seconds.front(); });
  bool hasIdle = std::any_of(seconds.begin(), seconds.end(),
                             [](double s) { return s <= 0; });
  if (model.unevenSlices && !isEqual && !hasIdle) {
    double speed = 0;
    for (double s : seconds)
      speed += 1 / s;
    for (size_t i = 0; i < replicas; ++i)
      shares[i] = 1 / seconds[i] / speed;
  }
  if (samples > 0 && replicas > 1)
    return wholeSamples(shares, samples);
  return shares;
}

std::vector<double> sharesOf(const Problem &problem, const StagePlan &stage) {
  if (stage.devices.size() == 1 || takesTurns(problem, stage))
    return std::vector<double>(stage.devices.size(), 1.0);
  if (!stage.rows.empty()) {
    double all = 0;
    for (int64_t count : stage.rows)
      all += double(count);
    std::vector<double> shares;
    for (int64_t count : stage.rows)
      shares.push_back(double(count) / all);
    return shares;
  }
  if (stage.ways > 1)
    return std::vector<double>(stage.devices.size(),
                               double(stage.ways) /
                                   double(stage.devices.size()));
  std::vector<double> byClass(problem.layers.front().times.size(), 0);
  for (int64_t layer : stage.layers)
    for (size_t c = 0; c < byClass.size(); ++c)
      byClass[c] += problem.layers[layer].times[c].total().value;
  std::vector<double> seconds;
  std::vector<size_t> classOf = problem.cluster.classOfDevices();
  for (size_t device : stage.devices)
    seconds.push_back(byClass[classOf[device]]);
  return sharesOf(seconds, problem.model, problem.samples);
}

} // namespace stagewright
