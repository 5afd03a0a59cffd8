//===- LoadGraph.cpp - graph for planners of the maximum load -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaxLoad/LoadGraph.h"
#include "MaxLoad/LayerGroups.h"
#include "stagewright/Planning/Baselines/Formats.h"
#include "stagewright/Support/TopologicalOrder.h"
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace stagewright {

double LoadGraph::leastTime(int node) const {
  double least = places.front().time[node];
  for (const LoadPlace &place : places)
    least = std::min(least, place.time[node]);
  return least;
}

/// Numbers the groups in topological order of the forward, ties by the layer to
/// which the others of the group are joined; returns the node of each layer.
static std::vector<int> numberNodes(const Problem &problem, LoadGraph &graph) {
  std::vector<int64_t> groupOf = groupLayers(problem);
  std::set<std::pair<int64_t, int64_t>> edges;
  for (const LayerValue &value : problem.values)
    for (const LayerPhase &use : value.uses) {
      int64_t a = groupOf[value.producer.layer], b = groupOf[use.layer];
      if (a != b && isForward(value, use))
        edges.insert({a, b});
    }
  std::vector<int> nodeOf(groupOf.size(), -1);
  int count = 0;
  for (size_t group : topologicalOrder(successorsOf(groupOf.size(), edges)))
    if (groupOf[group] == int64_t(group))
      nodeOf[group] = count++;
  graph.layers.resize(count);
  graph.before.resize(count);
  graph.after.resize(count);
  for (size_t layer = 0; layer < groupOf.size(); ++layer) {
    nodeOf[layer] = nodeOf[groupOf[layer]];
    graph.layers[nodeOf[layer]].push_back(layer);
  }
  for (auto [a, b] : edges) {
    graph.after[nodeOf[a]].push_back(nodeOf[b]);
    graph.before[nodeOf[b]].push_back(nodeOf[a]);
  }
  return nodeOf;
}

/// Bandwidth and latency charged to the device at `position`: the worse ones of
/// its links to the neighbours in `order`.
static std::pair<double, double> linkOf(const Network &network,
                                        const std::vector<size_t> &order,
                                        size_t position) {
  double bandwidth = std::numeric_limits<double>::infinity(), latency = 0;
  for (size_t other : {position - 1, position + 1})
    if (other < order.size()) {
      size_t a = order[position], b = order[other];
      bandwidth = std::min(bandwidth, network.bandwidth(a, b));
      latency = std::max(latency, network.latency(a, b));
    }
  return {bandwidth, latency};
}

static bool areLinksEqual(const Network &network) {
  for (size_t a = 0; a < network.size(); ++a)
    for (size_t b = a + 1; b < network.size(); ++b)
      if (network.bandwidth(a, b) != network.bandwidth(0, 1) ||
          network.latency(a, b) != network.latency(0, 1))
        return false;
  return true;
}

namespace {
/// What determines the cost of one net on any link: stated seconds, bytes and
/// the number of values.
struct NetCost {
  double given = 0, bytes = 0, count = 0;
};
} // namespace

/// The place of a device of class `deviceClass` with this link.
static LoadPlace makePlace(const Problem &problem, const LoadGraph &graph,
                           const std::vector<NetCost> &nets, size_t deviceClass,
                           std::pair<double, double> link) {
  LoadPlace place;
  for (const std::vector<int64_t> &layers : graph.layers) {
    double time = 0;
    for (int64_t layer : layers) {
      const StageTimes &times = problem.layers[layer].times[deviceClass];
      time += problem.forwardOnly ? times.forward.value : times.total().value;
    }
    place.time.push_back(time);
  }
  bool isHost = problem.cluster.classes()[deviceClass] == kHostClass;
  for (const NetCost &net : nets)
    place.cost.push_back(isHost ? 0
                                : net.given + net.bytes / link.first +
                                      net.count * link.second);
  return place;
}

LoadGraph makeLoadGraph(const Problem &problem, const Network &network,
                        const std::vector<size_t> &order) {
  LoadGraph graph;
  std::vector<int> nodeOf = numberNodes(problem, graph);
  std::map<std::vector<int>, NetCost> costOf;
  for (const LayerValue &value : problem.values) {
    std::set<int> nodes;
    for (int64_t layer : layersOf(value))
      nodes.insert(nodeOf[layer]);
    bool isFree =
        value.transfer ? value.transfer->value == 0 : value.bytes.value == 0;
    if (nodes.size() < 2 || isFree)
      continue;
    NetCost &net = costOf[std::vector<int>(nodes.begin(), nodes.end())];
    net.given += value.transfer.value_or(Seconds()).value;
    if (!value.transfer) {
      net.bytes += double(value.bytes.value);
      net.count += 1;
    }
  }
  std::vector<NetCost> costs;
  graph.netsOf.resize(graph.size());
  for (const auto &[nodes, cost] : costOf) {
    for (int node : nodes)
      graph.netsOf[node].push_back(int(graph.nets.size()));
    graph.nets.push_back(nodes);
    costs.push_back(cost);
  }
  std::vector<size_t> classOf = problem.cluster.classOfDevices();
  std::map<std::tuple<size_t, Bytes, double, double>, size_t> known;
  for (size_t position = 0; position < order.size(); ++position) {
    std::pair<double, double> link = linkOf(network, order, position);
    size_t deviceClass = classOf[order[position]];
    Bytes memory = problem.cluster.devices[order[position]].memory;
    auto [place, isNew] = known.try_emplace(
        {deviceClass, memory, link.first, link.second}, graph.places.size());
    if (isNew)
      graph.places.push_back(
          makePlace(problem, graph, costs, deviceClass, link));
    graph.placeOf.push_back(place->second);
  }
  graph.flat = areLinksEqual(network);
  return graph;
}

GrowingLoad::GrowingLoad(const LoadGraph &graph, const LoadPlace &place)
    : graph(graph), place(place), pinsInside(graph.nets.size()), times(1),
      costs(1) {}

void GrowingLoad::add(int node) {
  double cost = costs.back();
  for (int net : graph.netsOf[node]) {
    int inside = ++pinsInside[net];
    if (inside == 1)
      cost += place.cost[net];
    else if (inside == int(graph.nets[net].size()))
      cost -= place.cost[net];
  }
  times.push_back(times.back() + place.time[node]);
  costs.push_back(cost);
}

void GrowingLoad::remove(int node) {
  for (int net : graph.netsOf[node])
    --pinsInside[net];
  times.pop_back();
  costs.pop_back();
}

} // namespace stagewright
