//===- GangProblem.cpp - shards of layers as one device -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/GangProblem.h"
#include "Gangs/GangBuilder.h"
#include <algorithm>

namespace stagewright {

std::vector<int64_t> layersByLevel(const std::vector<size_t> &ends) {
  std::vector<int64_t> layers;
  for (size_t layer = 0; layer < ends.size(); ++layer)
    layers.resize(ends[layer], int64_t(layer));
  return layers;
}

/// By layer of the gang: whether it is linked to the layer before
/// (joinToChain()).
static std::vector<bool> linkedLayers(const Problem &problem,
                                      const ShardedLayers &sharded) {
  std::vector<int64_t> ofLevel = layersByLevel(sharded.ends);
  std::vector<bool> gets(sharded.ends.size(), false),
      returns(sharded.ends.size(), problem.forwardOnly);
  for (const LayerValue &value : problem.values) {
    int64_t from = ofLevel[sharded.places[size_t(value.producer.layer)].level];
    bool isForward = value.producer.phase == ActionKind::Forward;
    for (const LayerPhase &use : value.uses) {
      int64_t to = ofLevel[sharded.places[size_t(use.layer)].level];
      if (isForward && use.phase == ActionKind::Forward && to == from + 1)
        gets[size_t(to)] = true;
      if (!isForward && to == from - 1)
        returns[size_t(from)] = true;
    }
  }
  for (size_t layer = 0; layer < gets.size(); ++layer)
    gets[layer] = gets[layer] && returns[layer];
  return gets;
}

void joinToChain(const Problem &problem, ShardedLayers &layers) {
  for (bool isChain = false; !isChain;) {
    std::vector<bool> linked = linkedLayers(problem, layers);
    std::vector<size_t> ends;
    for (size_t layer = 0; layer < linked.size(); ++layer)
      if (layer + 1 == linked.size() || linked[layer + 1])
        ends.push_back(layers.ends[layer]);
    isChain = ends.size() == layers.ends.size();
    layers.ends = std::move(ends);
  }
}

Result<GangProblems> gangProblems(const Problem &problem,
                                  const ShardedLayers &layers) {
  if (problem.cluster.devices.size() < layers.ways)
    return Error{std::to_string(layers.ways) + " shards need " +
                 std::to_string(layers.ways) + " devices, cluster '" +
                 problem.cluster.name + "' has " +
                 std::to_string(problem.cluster.devices.size())};
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  auto build = [&](GangTimes times) {
    return GangBuilder(problem, *network, layers, times).build();
  };
  return GangProblems{build(GangTimes::Most), build(GangTimes::Least),
                      build(GangTimes::Compute)};
}

} // namespace stagewright
