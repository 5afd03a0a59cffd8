//===- DnnPartitioning.cpp - reads dnn-partitioning's workloads -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The throughput workloads of "Efficient algorithms for device placement of DNN
// graph operators" (Tarnawski et al., NeurIPS 2020). A layer is a set of nodes
// that must be on one device: the forward and backward nodes of a colour class,
// or of all classes on a cycle in the graph of classes. A class that has only
// backward nodes takes its place in the order of layers from its gradient
// edges, reversed.
//
// Transfers keep the file's cost, which every accelerator that sends or
// receives a node's output pays once. Each core of the host (`maxCPUs` of them)
// is a device; all are of one class, with times of its own. Cores pay for no
// transfer, because tensors move through the memory of the host. One thing
// differs from the published program: if the edge of a gradient points in the
// direction of the forward, as in the files of layer graphs, the last of the
// layers that it joins becomes its producer. So gradients flow backward; layers
// and costs are those of the published program.
//
//===----------------------------------------------------------------------===//

#include "DnnPartitioningFile.h"
#include "MaxLoad/GraphParts.h"
#include "stagewright/Planning/Baselines/Formats.h"
#include "stagewright/Support/Limits.h"
#include "stagewright/Support/TopologicalOrder.h"
#include <algorithm>
#include <set>

namespace stagewright {

using Edges = std::set<std::pair<size_t, size_t>>;

/// Edges that order colour classes: those of the forward, and reversed edges of
/// the backward if one of their classes has no forward node.
static Edges orderOfColors(const DnnFile &content) {
  std::vector<bool> hasForward(content.numColors, false);
  for (const DnnNode &node : content.nodes)
    if (!node.backward)
      hasForward[node.color] = true;
  Edges edges;
  for (const DnnNode &node : content.nodes)
    for (size_t to : node.to) {
      size_t a = node.color, b = content.nodes[to].color;
      if (a == b)
        continue;
      if (!node.backward && !content.nodes[to].backward)
        edges.insert({a, b});
      else if (node.backward && (!hasForward[a] || !hasForward[b]))
        edges.insert({b, a});
    }
  return edges;
}

/// The layer of each node. `order` returns the edges that order layers.
static std::vector<int64_t> layersOf(const DnnFile &content, Edges &order) {
  order = orderOfColors(content);
  std::vector<size_t> part = strongComponents(
      content.numColors, GraphEdges(order.begin(), order.end()));
  Edges between;
  for (auto [a, b] : order)
    if (part[a] != part[b])
      between.insert({part[a], part[b]});
  // Forward nodes rank first, so that layers are numbered in forward order.
  size_t numNodes = content.nodes.size();
  std::vector<int64_t> rank(*std::max_element(part.begin(), part.end()) + 1,
                            int64_t(2 * numNodes));
  for (size_t i = 0; i < numNodes; ++i) {
    const DnnNode &node = content.nodes[i];
    int64_t &least = rank[part[node.color]];
    least = std::min(least, int64_t(node.backward ? numNodes + i : i));
  }
  std::vector<size_t> number(rank.size());
  for (size_t next = 0;
       size_t part : topologicalOrder(successorsOf(rank.size(), between), rank))
    number[part] = next++;
  order.clear();
  for (auto [a, b] : between)
    order.insert({number[a], number[b]});
  std::vector<int64_t> layerOf;
  for (const DnnNode &node : content.nodes)
    layerOf.push_back(int64_t(number[part[node.color]]));
  return layerOf;
}

/// Adds the values that `node` of layer `layer` sends to the layers in `uses`.
static void addValue(Problem &problem, const DnnNode &node, int64_t layer,
                     const std::set<std::pair<int64_t, bool>> &uses) {
  ActionKind phase =
      node.backward ? ActionKind::InputGradient : ActionKind::Forward;
  LayerValue value{node.bytes, {layer, phase}, {}, node.cost};
  LayerValue back{
      node.bytes, {layer, ActionKind::InputGradient}, {}, node.cost};
  int64_t last = layer;
  for (auto [user, backward] : uses) {
    LayerPhase use{user,
                   backward ? ActionKind::InputGradient : ActionKind::Forward};
    last = std::max(last, user);
    // A forward value for an earlier layer is sent in the backward.
    (user < layer ? back : value).uses.push_back(use);
  }
  if (node.backward) {
    // A gradient is one value, produced by the last of its layers.
    value.uses.insert(value.uses.end(), back.uses.begin(), back.uses.end());
    for (LayerPhase &use : value.uses)
      if (use.layer == last)
        std::swap(use.layer, value.producer.layer);
    back.uses.clear();
  }
  for (LayerValue &made : {std::ref(value), std::ref(back)})
    if (!made.uses.empty())
      problem.values.push_back(std::move(made));
}

static void addLayers(Problem &problem, const DnnFile &content,
                      const std::vector<int64_t> &layerOf) {
  problem.layers.resize(*std::max_element(layerOf.begin(), layerOf.end()) + 1);
  std::vector<Bytes> sizes(problem.layers.size());
  std::set<std::string> names;
  for (bool backward : {false, true})
    for (size_t i = 0; i < content.nodes.size(); ++i) {
      const DnnNode &node = content.nodes[i];
      if (node.backward != backward)
        continue;
      Layer &layer = problem.layers[layerOf[i]];
      if (layer.times.empty()) {
        layer.times.resize(content.hosts > 0 ? 2 : 1);
        layer.name = names.insert(node.name).second
                         ? node.name
                         : node.name + "#" + std::to_string(node.id);
      }
      for (size_t c = 0; c < layer.times.size(); ++c)
        (backward ? layer.times[c].inputGradient : layer.times[c].forward) +=
            c == 0 ? node.time : node.hostTime;
      sizes[layerOf[i]] += node.size;
    }
  for (size_t layer = 0; layer < sizes.size(); ++layer)
    if (sizes[layer].value > 0)
      problem.residents.push_back(
          {sizes[layer], ResidentKind::Constant, {int64_t(layer)}});
}

/// `maxFPGAs` equal accelerators, with links as fast as costs and sizes imply,
/// followed by the cores of the host.
static Cluster clusterOf(const DnnFile &content) {
  double bytes = 0, seconds = 0;
  for (const DnnNode &node : content.nodes)
    if (node.cost.value > 0 && node.bytes.value > 0) {
      bytes += double(node.bytes.value);
      seconds += node.cost.value;
    }
  Cluster cluster;
  cluster.name = "accelerators";
  for (int64_t i = 0; i < content.devices; ++i)
    cluster.devices.push_back({"d" + std::to_string(i), kProfiledClass, 0,
                               FlopRate(1), Bandwidth(1), content.memory});
  for (int64_t i = 0; i < content.hosts; ++i)
    cluster.devices.push_back({"host" + std::to_string(i), kHostClass, 0,
                               FlopRate(1), Bandwidth(1), Bytes(kMostBytes)});
  cluster.fabric.inside =
      Joint{Bandwidth(seconds > 0 ? bytes / seconds : 1), Seconds(0)};
  return cluster;
}

Result<Problem> readDnnPartitioning(const std::string &text,
                                    const std::string &file) {
  Result<DnnFile> content = parseDnnFile(text, file);
  if (!content)
    return content.error();
  Edges order;
  std::vector<int64_t> layerOf = layersOf(*content, order);
  Problem problem;
  problem.cluster = clusterOf(*content);
  problem.forwardOnly =
      std::none_of(content->nodes.begin(), content->nodes.end(),
                   [](const DnnNode &node) { return node.backward; });
  addLayers(problem, *content, layerOf);
  for (size_t i = 0; i < content->nodes.size(); ++i) {
    const DnnNode &node = content->nodes[i];
    std::set<std::pair<int64_t, bool>> uses;
    for (size_t to : node.to) {
      if (layerOf[to] == layerOf[i])
        continue;
      uses.insert({layerOf[to], content->nodes[to].backward});
      if (!node.backward && !content->nodes[to].backward)
        order.erase({size_t(layerOf[i]), size_t(layerOf[to])});
    }
    addValue(problem, node, layerOf[i], uses);
  }
  // The remaining edges only order layers that have no forward nodes. Each
  // becomes a value of 0 bytes.
  for (auto [before, after] : order)
    problem.values.push_back({Bytes(0),
                              {int64_t(before), ActionKind::Forward},
                              {{int64_t(after), ActionKind::Forward}},
                              Seconds(0)});
  return problem;
}

} // namespace stagewright
