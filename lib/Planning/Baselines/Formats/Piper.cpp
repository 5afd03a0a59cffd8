//===- Piper.cpp - reads Piper's instances --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every layer keeps its alternatives. Planners that do not use alternatives see
// the fastest one for a single device. Its time is divided into forward and
// backward: the alternative with recomputation takes one forward more, which
// gives the forward's time; without such an alternative the ratio is 1 to 2.
// Its memory per sample becomes its inputs, which are kept for the backward,
// and one more value for the rest.
//
// Times are in the unit of the file: seconds for BERT, milliseconds for GNMT
// and ResNet. Bandwidth is not converted to match, as in the published program.
//
//===----------------------------------------------------------------------===//

#include "PiperFile.h"
#include "Text.h"
#include "stagewright/Planning/Baselines/Formats.h"
#include "stagewright/Support/TopologicalOrder.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

/// Positions of the nodes in topological order; ties are in the file's order.
static Result<std::vector<size_t>> orderOf(const PiperFile &content,
                                           const std::string &file) {
  Successors next(content.nodes.size());
  for (const PiperEdge &edge : content.edges)
    next[edge.from].push_back(edge.to);
  std::vector<size_t> order = topologicalOrder(next);
  std::optional<size_t> waiting = firstLeftOut(order, next.size());
  if (!waiting)
    return order;
  return Error{
      file + ": the edges form a cycle; node " +
      std::to_string(content.nodes[*waiting].id) +
      " is on it or reachable from it, but a pipeline needs a graph without "
      "cycles"};
}

/// The fastest alternative for one device, with or without recomputation.
static const Alternative *fastestOf(const PiperNode &node, bool recompute) {
  const Alternative *best = nullptr;
  for (const Alternative &way : node.alternatives)
    if (way.ways == 1 && way.recompute == recompute &&
        (!best || way.time < best->time))
      best = &way;
  return best;
}

static StageTimes timesOf(const Alternative &plain, const Alternative *again) {
  double total = plain.time.value, forward = total / 3;
  if (again && again->time > plain.time && again->time.value < 2 * total)
    forward = again->time.value - total;
  return {Seconds(forward), Seconds(total - forward), Seconds(0)};
}

/// Adds the parameters of `plain`, and its memory beyond parameters and edges.
static void addMemory(const Alternative &plain, int64_t layer, Bytes incoming,
                      Problem &problem) {
  addParameters(problem, layer, plain.parameters);
  int64_t stash = int64_t(std::ceil(plain.memoryPerSample)) - incoming.value;
  if (stash > 0)
    problem.values.push_back({Bytes(stash),
                              {layer, ActionKind::Forward},
                              {{layer, ActionKind::InputGradient}}});
  int64_t fixed =
      int64_t(std::ceil(plain.memoryFixed)) - 2 * plain.parameters.value;
  if (fixed > 0)
    problem.residents.push_back(
        {Bytes(fixed), ResidentKind::Constant, {layer}});
}

/// Equal devices with equal links. Compute times are in the profile, so the
/// rates of the devices are not used.
static Cluster clusterOf(const PiperFile &content) {
  Cluster cluster;
  cluster.name = "piper";
  for (int64_t i = 0; i < content.devices; ++i) {
    Device device;
    device.name = "d" + std::to_string(i);
    device.deviceClass = kProfiledClass;
    device.flops = FlopRate(1);
    device.bandwidth = content.bandwidth;
    device.memory = content.memory;
    cluster.devices.push_back(std::move(device));
  }
  cluster.fabric.inside = Joint{content.bandwidth, Seconds(0)};
  return cluster;
}

Result<Problem> readPiper(const std::string &text, const std::string &file) {
  Result<PiperFile> content = parsePiperFile(text, file);
  if (!content)
    return content.error();
  Result<std::vector<size_t>> order = orderOf(*content, file);
  if (!order)
    return order.error();
  std::vector<int64_t> layerOf(order->size());
  for (size_t i = 0; i < order->size(); ++i)
    layerOf[(*order)[i]] = int64_t(i);

  Problem problem;
  problem.cluster = clusterOf(*content);
  problem.microbatches = content->microbatches;
  std::vector<Bytes> incoming(order->size());
  for (const PiperEdge &edge : content->edges) {
    addActivation(problem, layerOf[edge.from], edge.bytes, {layerOf[edge.to]});
    incoming[edge.to] += edge.bytes;
  }
  for (size_t position : *order) {
    PiperNode &node = content->nodes[position];
    int64_t number = int64_t(problem.layers.size());
    for (Alternative &way : node.alternatives)
      for (std::map<int64_t, double> *syncs : {&way.syncIn, &way.syncOut}) {
        std::map<int64_t, double> renumbered;
        for (auto [other, bytes] : *syncs)
          renumbered[layerOf[other]] = bytes;
        *syncs = std::move(renumbered);
      }
    const Alternative *again = fastestOf(node, true);
    const Alternative *plain = fastestOf(node, false);
    if (!plain)
      plain = again;
    Layer layer;
    layer.name = "node" + std::to_string(node.id) +
                 (node.name.empty() ? "" : " " + node.name);
    layer.times = {timesOf(*plain, again)};
    addMemory(*plain, number, incoming[position], problem);
    layer.alternatives = std::move(node.alternatives);
    problem.layers.push_back(std::move(layer));
  }
  return problem;
}

} // namespace stagewright
