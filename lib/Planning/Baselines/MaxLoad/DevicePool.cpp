//===- DevicePool.cpp - which devices stages have taken -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaxLoad/DevicePool.h"
#include <algorithm>
#include <functional>
#include <map>

namespace stagewright {

/// Max number of states; with more, stages take the devices in order.
static constexpr size_t kMostStates = 4096;

/// Lists of positions; those of one list are taken in its order.
using Queues = std::vector<std::vector<size_t>>;

/// A queue for each place, or one for all of them.
static Queues makeQueues(const LoadGraph &graph, bool byPlace) {
  Queues queues(byPlace ? graph.places.size() : 1);
  for (size_t position = graph.placeOf.size(); position-- > 0;)
    queues[byPlace ? graph.placeOf[position] : 0].push_back(position);
  return queues;
}

static size_t countStates(const Queues &queues) {
  size_t count = 1;
  for (const std::vector<size_t> &queue : queues)
    count = std::min(count * (queue.size() + 1), 2 * kMostStates);
  return count;
}

/// Max speed of `place`, over all nodes, relative to the fastest place of each.
static double speedOf(const LoadGraph &graph, const LoadPlace &place) {
  double speed = 0;
  for (size_t node = 0; node < graph.size(); ++node)
    if (place.time[node] > 0)
      speed = std::max(speed, graph.leastTime(int(node)) / place.time[node]);
  return speed;
}

DevicePool::DevicePool(const LoadGraph &graph, int64_t most) {
  Queues queues = makeQueues(graph, graph.flat);
  if (countStates(queues) > kMostStates)
    queues = makeQueues(graph, false);
  std::vector<double> speeds;
  for (const LoadPlace &place : graph.places)
    speeds.push_back(speedOf(graph, place));
  std::map<std::vector<size_t>, int> known;
  std::vector<std::vector<size_t>> taken;
  auto numberOf = [&](const std::vector<size_t> &counts) {
    auto [entry, isNew] = known.try_emplace(counts, int(taken.size()));
    if (isNew)
      taken.push_back(counts);
    return entry->second;
  };
  numberOf(std::vector<size_t>(queues.size()));
  for (size_t number = 0; number < taken.size(); ++number) {
    State state;
    std::vector<size_t> counts = taken[number];
    std::vector<double> left;
    for (size_t q = 0; q < queues.size(); ++q) {
      state.stages += int64_t(counts[q]);
      for (size_t i = counts[q]; i < queues[q].size(); ++i)
        left.push_back(speeds[graph.placeOf[queues[q][i]]]);
    }
    std::sort(left.begin(), left.end(), std::greater<>());
    left.resize(std::min(left.size(), size_t(most - state.stages)));
    for (double speed : left)
      state.capacity += speed;
    for (size_t q = 0; state.stages < most && q < queues.size(); ++q) {
      if (counts[q] == queues[q].size())
        continue;
      size_t position = queues[q][counts[q]++];
      state.steps.push_back(
          {position, graph.placeOf[position], numberOf(counts)});
      --counts[q];
    }
    states.push_back(std::move(state));
  }
}

const DevicePool::Step &DevicePool::step(int from, int to) const {
  const std::vector<Step> &steps = states[from].steps;
  return *std::find_if(steps.begin(), steps.end(),
                       [&](const Step &step) { return step.next == to; });
}

} // namespace stagewright
