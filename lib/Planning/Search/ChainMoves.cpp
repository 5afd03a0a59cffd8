//===- ChainMoves.cpp - simple plans, and small changes of a plan ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/ChainSpace.h"
#include <algorithm>
#include <numeric>

namespace stagewright {

/// `stages` stages of about equal work, on about equal numbers of devices.
static Decisions evenPlan(const std::vector<double> &work, size_t stages,
                          size_t devices, size_t maxReplicas) {
  Decisions plan = {0};
  size_t layers = work.size() - 1, end = 0;
  for (size_t s = 1; s <= stages; ++s) {
    double wanted = work.back() * double(s) / double(stages);
    size_t last = layers - (stages - s);
    for (++end; end < last && work[end] < wanted; ++end) {
    }
    size_t own = devices / stages + (s <= devices % stages);
    plan.push_back(int64_t(s == stages ? layers : end));
    plan.push_back(int64_t(std::min(own, maxReplicas)));
  }
  return plan;
}

std::vector<Decisions> ChainSpace::references() const {
  size_t most = std::min(costs.layers, network.size());
  std::vector<size_t> numbers = {1, 2, most};
  if (problem.stages > 0)
    numbers = {size_t(problem.stages)};
  std::vector<Decisions> plans;
  for (size_t stages : numbers)
    if (stages <= most)
      plans.push_back(evenPlan(leastWork, stages, network.size(), maxReplicas));
  return plans;
}

namespace {
/// A plan whose stages can be changed.
struct Stages {
  int64_t order = 0;
  std::vector<int64_t> ends, counts; ///< By stage.

  explicit Stages(const Decisions &plan) : order(plan[0]) {
    for (size_t i = 1; i < plan.size(); i += 2) {
      ends.push_back(plan[i]);
      counts.push_back(plan[i + 1]);
    }
  }
  int64_t firstOf(size_t s) const { return s > 0 ? ends[s - 1] : 0; }
  Decisions plan() const {
    Decisions plan = {order};
    for (size_t s = 0; s < ends.size(); ++s)
      plan.insert(plan.end(), {ends[s], counts[s]});
    return plan;
  }
};
} // namespace

/// Shifts a cut by one to three layers, if both stages keep a layer.
static void shiftCut(Stages &stages, SearchRandom &random) {
  if (stages.ends.size() < 2)
    return;
  size_t s = random.pick(stages.ends.size() - 1);
  int64_t by = 1 + int64_t(random.pick(3));
  int64_t end = stages.ends[s] + (random.pick(2) ? by : -by);
  if (end > stages.firstOf(s) && end < stages.ends[s + 1])
    stages.ends[s] = end;
}

/// Moves a device from a stage, or from the free devices, to another stage or
/// to the free devices.
static void moveDevice(Stages &stages, int64_t devices, int64_t most,
                       SearchRandom &random) {
  size_t count = stages.counts.size(), from = random.pick(count + 1),
         to = random.pick(count + 1);
  int64_t used =
      std::accumulate(stages.counts.begin(), stages.counts.end(), int64_t(0));
  if (from == to ||
      (from == count ? used == devices : stages.counts[from] == 1) ||
      (to < count && stages.counts[to] == most))
    return;
  if (from < count)
    --stages.counts[from];
  if (to < count)
    ++stages.counts[to];
}

/// Splits a stage with several layers and devices at random places.
static void splitStage(Stages &stages, SearchRandom &random) {
  size_t s = random.pick(stages.ends.size());
  int64_t layers = stages.ends[s] - stages.firstOf(s), own = stages.counts[s];
  if (layers < 2 || own < 2)
    return;
  int64_t end = stages.firstOf(s) + 1 + int64_t(random.pick(layers - 1));
  int64_t first = 1 + int64_t(random.pick(own - 1));
  stages.ends.insert(stages.ends.begin() + s, end);
  stages.counts[s] -= first;
  stages.counts.insert(stages.counts.begin() + s, first);
}

/// Merges a stage with the next one.
static void mergeStages(Stages &stages, int64_t most, SearchRandom &random) {
  if (stages.ends.size() < 2)
    return;
  size_t s = random.pick(stages.ends.size() - 1);
  stages.counts[s + 1] =
      std::min(stages.counts[s] + stages.counts[s + 1], most);
  stages.ends.erase(stages.ends.begin() + s);
  stages.counts.erase(stages.counts.begin() + s);
}

Decisions ChainSpace::neighbour(const Decisions &plan,
                                SearchRandom &random) const {
  Stages stages(plan);
  bool free = problem.stages == 0;
  int64_t devices = int64_t(network.size()), most = int64_t(maxReplicas);
  switch (random.pick(orders.size() > 1 ? 9 : 8)) {
  case 0:
  case 1:
  case 2:
    shiftCut(stages, random);
    break;
  case 3:
  case 4:
    moveDevice(stages, devices, most, random);
    break;
  case 5:
  case 6:
    if (free)
      splitStage(stages, random);
    break;
  case 7:
    if (free)
      mergeStages(stages, most, random);
    break;
  default:
    stages.order = int64_t(random.pick(orders.size()));
  }
  return stages.plan();
}

} // namespace stagewright
