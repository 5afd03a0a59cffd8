//===- BranchDp.cpp - branches contracted as in PipeDream -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PipeDream plans chains: branches that separate and meet again are contracted
// to one layer. Here, in the graph of forward and backward nodes, the layers
// whose outputs are in one biconnected component are contracted. In training
// graphs skip connections make components large, which is the weakness of this
// baseline.
//
//===----------------------------------------------------------------------===//

#include "MaxLoad/BranchDp.h"
#include "MaxLoad/GraphParts.h"
#include "MaxLoad/LayerGroups.h"
#include "stagewright/Planning/Baselines/Baselines.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Support/TopologicalOrder.h"
#include <algorithm>
#include <numeric>

namespace stagewright {

/// The root of `layer` in a union-find: one of the layers contracted with it.
static size_t rootOf(std::vector<size_t> &parent, size_t layer) {
  while (parent[layer] != layer)
    layer = parent[layer] = parent[parent[layer]];
  return layer;
}

/// For each layer the representative of those contracted with it. Edges of a
/// gradient start at the first layer that it touches, as if drawn forward.
static std::vector<size_t> contract(const Problem &problem,
                                    const std::vector<int64_t> &ignored) {
  GraphEdges edges;
  for (const LayerValue &value : problem.values) {
    bool back = value.producer.phase != ActionKind::Forward;
    bool isNothing = value.bytes.value == 0 &&
                     (!value.transfer || value.transfer->value == 0);
    std::set<int64_t> layers = layersOf(value);
    int64_t tail = back ? *layers.begin() : value.producer.layer;
    if (layers.size() < 2 || isNothing ||
        std::find(ignored.begin(), ignored.end(), tail) != ignored.end())
      continue;
    // Vertices 2 l and 2 l + 1 are the forward and the backward of layer l.
    for (const LayerPhase &use : value.uses) {
      int64_t head = use.layer == tail ? value.producer.layer : use.layer;
      if (head != tail)
        edges.push_back(
            {size_t(2 * tail + back),
             size_t(2 * head + (use.phase != ActionKind::Forward))});
    }
  }
  std::vector<size_t> part =
      biconnectedComponents(2 * problem.layers.size(), edges);
  std::vector<size_t> parent(problem.layers.size()), firstOf(edges.size());
  std::iota(parent.begin(), parent.end(), 0);
  std::vector<bool> isSeen(edges.size(), false);
  for (size_t edge = 0; edge < edges.size(); ++edge) {
    size_t layer = edges[edge].first / 2;
    if (!isSeen[part[edge]])
      firstOf[part[edge]] = layer;
    isSeen[part[edge]] = true;
    parent[rootOf(parent, layer)] = rootOf(parent, firstOf[part[edge]]);
  }
  std::vector<size_t> groupOf;
  for (size_t layer = 0; layer < parent.size(); ++layer)
    groupOf.push_back(rootOf(parent, layer));
  return groupOf;
}

/// Edges between different groups along which forward values go.
static std::set<std::pair<size_t, size_t>>
edgesBetween(const Problem &problem, const std::vector<size_t> &groupOf) {
  std::set<std::pair<size_t, size_t>> edges;
  for (const LayerValue &value : problem.values)
    for (const LayerPhase &use : value.uses) {
      size_t a = groupOf[value.producer.layer], b = groupOf[use.layer];
      if (a != b && value.producer.phase == ActionKind::Forward)
        edges.insert({a, b});
    }
  return edges;
}

/// Numbers groups in topological order, ties by first layer. Groups on a cycle
/// are joined.
static std::vector<int64_t> numberGroups(const Problem &problem,
                                         std::vector<size_t> groupOf) {
  auto edges = edgesBetween(problem, groupOf);
  std::vector<size_t> part =
      strongComponents(groupOf.size(), GraphEdges(edges.begin(), edges.end()));
  // Identify each part by its first layer.
  std::vector<size_t> first(groupOf.size(), size_t(-1));
  for (size_t layer = groupOf.size(); layer-- > 0;)
    first[part[groupOf[layer]]] = layer;
  for (size_t &group : groupOf)
    group = first[part[group]];
  edges = edgesBetween(problem, groupOf);
  std::vector<int64_t> number(groupOf.size());
  for (int64_t next = 0;
       size_t group : topologicalOrder(successorsOf(groupOf.size(), edges)))
    if (groupOf[group] == group)
      number[group] = next++;
  std::vector<int64_t> result;
  for (size_t group : groupOf)
    result.push_back(number[group]);
  return result;
}

/// The problem in which group `groupOf[l]` replaces layer l.
static Problem coarsen(const Problem &problem,
                       const std::vector<int64_t> &groupOf) {
  Problem coarse = problem;
  coarse.layers.assign(*std::max_element(groupOf.begin(), groupOf.end()) + 1,
                       {});
  for (size_t l = 0; l < groupOf.size(); ++l) {
    Layer &layer = coarse.layers[groupOf[l]];
    const Layer &part = problem.layers[l];
    if (layer.times.empty())
      layer = {part.name, std::vector<StageTimes>(part.times.size())};
    for (size_t c = 0; c < part.times.size(); ++c) {
      layer.times[c].forward += part.times[c].forward;
      layer.times[c].inputGradient += part.times[c].inputGradient;
      layer.times[c].weightGradient += part.times[c].weightGradient;
    }
  }
  for (LayerValue &value : coarse.values) {
    value.producer.layer = groupOf[value.producer.layer];
    for (LayerPhase &use : value.uses)
      use.layer = groupOf[use.layer];
  }
  for (Resident &resident : coarse.residents) {
    std::set<int64_t> groups;
    for (int64_t layer : resident.layers)
      groups.insert(groupOf[layer]);
    resident.layers.assign(groups.begin(), groups.end());
  }
  return coarse;
}

Result<Plan> planBranches(const Problem &problem,
                          const std::vector<int64_t> &ignored) {
  if (Status status = problem.check(); !status)
    return status.error();
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  std::vector<int64_t> groupOf =
      numberGroups(problem, contract(problem, ignored));
  Problem coarse = coarsen(problem, groupOf);
  Result<Plan> found = planIdealDp(coarse);
  if (!found)
    return found.error();
  Plan plan;
  plan.planner = "branch-dp";
  plan.objective = found->objective;
  plan.value = found->value;
  plan.familyBound = found->familyBound;
  plan.explanation = {std::to_string(problem.layers.size()) + " layers are " +
                      std::to_string(coarse.layers.size()) +
                      " with branches contracted"};
  for (const StagePlan &part : found->stages) {
    StagePlan stage;
    for (size_t layer = 0; layer < groupOf.size(); ++layer)
      if (std::binary_search(part.layers.begin(), part.layers.end(),
                             groupOf[layer]))
        stage.layers.push_back(int64_t(layer));
    stage.devices = part.devices;
    plan.stages.push_back(std::move(stage));
  }
  if (Status status = evaluate(problem, *network, plan); !status)
    return status.error();
  return plan;
}

Result<Plan> planBranchDp(const Problem &problem) {
  return planBranches(problem, {});
}

} // namespace stagewright
