//===- LayerGroups.cpp - layers that stay together ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaxLoad/LayerGroups.h"
#include <algorithm>
#include <numeric>

namespace stagewright {

std::set<int64_t> layersOf(const LayerValue &value) {
  std::set<int64_t> layers = {value.producer.layer};
  for (const LayerPhase &use : value.uses)
    layers.insert(use.layer);
  return layers;
}

/// Whether the forward of the user waits for the forward of the producer.
bool isForward(const LayerValue &value, const LayerPhase &use) {
  return value.producer.phase == ActionKind::Forward &&
         use.phase == ActionKind::Forward && use.layer != value.producer.layer;
}

namespace {
/// Joins layers that take no time to others.
class Groups {
public:
  explicit Groups(const Problem &problem);
  /// The layer to which each layer is joined.
  std::vector<int64_t> find();

private:
  bool canJoin(int64_t layer, int64_t other) const;

  const Problem &problem;
  std::vector<std::set<int64_t>> neighbours; ///< In the forward.
  std::vector<std::set<int64_t>> nets;       ///< Layers of each value.
  std::vector<std::vector<size_t>> netsOf;   ///< Of each layer.
};
} // namespace

Groups::Groups(const Problem &problem)
    : problem(problem), neighbours(problem.layers.size()),
      netsOf(problem.layers.size()) {
  for (const LayerValue &value : problem.values) {
    for (const LayerPhase &use : value.uses)
      if (isForward(value, use)) {
        neighbours[use.layer].insert(value.producer.layer);
        neighbours[value.producer.layer].insert(use.layer);
      }
    nets.push_back(layersOf(value));
    for (int64_t layer : nets.back())
      netsOf[layer].push_back(nets.size() - 1);
  }
}

/// Whether no load grows if `layer` moves to the device of `other`, its only
/// neighbour: `layer` takes no time, and `other` touches all its values.
bool Groups::canJoin(int64_t layer, int64_t other) const {
  const std::vector<StageTimes> &times = problem.layers[layer].times;
  return std::all_of(
             times.begin(), times.end(),
             [](const StageTimes &t) { return t.total().value == 0; }) &&
         std::all_of(netsOf[layer].begin(), netsOf[layer].end(),
                     [&](size_t net) {
                       return nets[net].count(other) || nets[net].size() == 1;
                     });
}

std::vector<int64_t> Groups::find() {
  size_t count = problem.layers.size();
  std::vector<int64_t> groupOf(count), todo(count);
  std::iota(groupOf.begin(), groupOf.end(), 0);
  std::iota(todo.rbegin(), todo.rend(), 0);
  while (!todo.empty()) {
    int64_t layer = todo.back();
    todo.pop_back();
    if (groupOf[layer] != layer || neighbours[layer].size() != 1)
      continue;
    int64_t other = *neighbours[layer].begin();
    if (!canJoin(layer, other))
      continue;
    groupOf[layer] = other;
    neighbours[other].erase(layer);
    for (size_t net : netsOf[layer])
      nets[net].erase(layer);
    todo.push_back(other);
  }
  for (size_t layer = 0; layer < count; ++layer)
    while (groupOf[groupOf[layer]] != groupOf[layer])
      groupOf[layer] = groupOf[groupOf[layer]];
  return groupOf;
}

std::vector<int64_t> groupLayers(const Problem &problem) {
  return Groups(problem).find();
}

} // namespace stagewright
