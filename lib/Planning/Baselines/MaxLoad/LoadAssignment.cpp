//===- LoadAssignment.cpp - loads of nodes on devices ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaxLoad/LoadAssignment.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

/// Bytes that each node holds during the whole step.
static std::vector<int64_t> bytesOf(const Problem &problem,
                                    const LoadGraph &graph) {
  std::vector<int64_t> ofLayer(problem.layers.size());
  for (const Resident &resident : problem.residents) {
    double factor = 1;
    if (resident.kind == ResidentKind::PerMicrobatch)
      factor = double(problem.microbatches);
    else if (resident.kind == ResidentKind::Parameter)
      factor += problem.model.optimizerState;
    for (int64_t layer : resident.layers)
      ofLayer[layer] += std::llround(factor * double(resident.bytes.value));
  }
  std::vector<int64_t> bytes(graph.size());
  for (size_t node = 0; node < graph.size(); ++node)
    for (int64_t layer : graph.layers[node])
      bytes[node] += ofLayer[layer];
  return bytes;
}

LoadAssignment::LoadAssignment(const Problem &problem, const LoadGraph &graph,
                               const std::vector<size_t> &order,
                               const std::vector<size_t> &positionOf)
    : graph(graph), positions(positionOf), loads(order.size()),
      pinCounts(graph.nets.size() * order.size()),
      bytes(bytesOf(problem, graph)), held(order.size()) {
  for (size_t device : order)
    memory.push_back(problem.cluster.devices[device].memory.value);
  for (size_t node = 0; node < graph.size(); ++node) {
    held[positions[node]] += bytes[node];
    for (int net : graph.netsOf[node])
      ++pins(net, positions[node]);
  }
  for (size_t position = 0; position < loads.size(); ++position) {
    const LoadPlace &place = graph.places[graph.placeOf[position]];
    for (size_t node = 0; node < graph.size(); ++node)
      if (positions[node] == position)
        loads[position] += place.time[node];
    for (size_t net = 0; net < graph.nets.size(); ++net) {
      int inside = pins(int(net), position);
      if (inside > 0 && inside < int(graph.nets[net].size()))
        loads[position] += place.cost[net];
    }
  }
}

double LoadAssignment::maxLoad() const {
  return *std::max_element(loads.begin(), loads.end());
}

double LoadAssignment::sumOfSquares() const {
  double sum = 0;
  for (double load : loads)
    sum += load * load;
  return sum;
}

void LoadAssignment::move(int node, size_t to) {
  size_t from = positions[node];
  const LoadPlace &left = graph.places[graph.placeOf[from]];
  const LoadPlace &entered = graph.places[graph.placeOf[to]];
  loads[from] -= left.time[node];
  loads[to] += entered.time[node];
  for (int net : graph.netsOf[node]) {
    int size = int(graph.nets[net].size());
    int leaves = pins(net, from)--;
    if (leaves == size)
      loads[from] += left.cost[net];
    else if (leaves == 1)
      loads[from] -= left.cost[net];
    int enters = pins(net, to)++;
    if (enters == size - 1)
      loads[to] -= entered.cost[net];
    else if (enters == 0)
      loads[to] += entered.cost[net];
  }
  held[from] -= bytes[node];
  held[to] += bytes[node];
  positions[node] = to;
}

namespace {
/// The nodes that a device can run next without waiting for another one.
struct Run {
  std::vector<int> nodes;
  bool finishes = false;
  double time = 0;

  bool isBetterThan(const Run &other) const {
    return std::pair(finishes, time) > std::pair(other.finishes, other.time);
  }
};
} // namespace

/// All nodes at `position` that need no more results of other devices.
static Run runAt(const LoadGraph &graph, const std::vector<size_t> &positionOf,
                 const std::vector<bool> &isDone, size_t position) {
  Run run;
  std::vector<bool> isHere = isDone;
  bool isLeft = false;
  // Nodes are numbered in topological order.
  for (int node = 0; node < int(graph.size()); ++node) {
    if (isDone[node] || positionOf[node] != position)
      continue;
    if (std::all_of(graph.before[node].begin(), graph.before[node].end(),
                    [&](int before) { return isHere[before]; })) {
      isHere[node] = true;
      run.nodes.push_back(node);
      run.time += graph.leastTime(node);
    } else {
      isLeft = true;
    }
  }
  run.finishes = !isLeft && !run.nodes.empty();
  return run;
}

std::vector<std::pair<size_t, std::vector<int>>>
contiguousStages(const LoadGraph &graph,
                 const std::vector<size_t> &positionOf) {
  std::vector<std::pair<size_t, std::vector<int>>> stages;
  std::vector<bool> isDone(graph.size(), false);
  for (size_t done = 0; done < graph.size();) {
    std::optional<std::pair<size_t, Run>> best;
    for (size_t position = 0; position < graph.placeOf.size(); ++position) {
      Run run = runAt(graph, positionOf, isDone, position);
      if (!run.nodes.empty() && (!best || run.isBetterThan(best->second)))
        best = {position, std::move(run)};
    }
    for (int node : best->second.nodes)
      isDone[node] = true;
    done += best->second.nodes.size();
    stages.push_back({best->first, std::move(best->second.nodes)});
  }
  return stages;
}

} // namespace stagewright
