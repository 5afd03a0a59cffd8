//===- PipeDream.cpp - PipeDream's planner --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translates layers to nodes, hosts to levels, and the answer to stages on
// devices.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/PipeDream.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Planning/Planners.h"
#include <algorithm>

namespace stagewright {

/// Max number of states beyond the number of nodes; the solver takes time cubic
/// in states. A graph with more is treated as a chain.
static constexpr size_t kMostExtraStates = 512;

namespace {
/// The graph without those inputs and unused results that cost nothing, as in
/// the published optimizer: it does not matter where they are placed.
struct Graph {
  std::vector<PipeDreamNode> nodes;
  std::vector<int64_t> layerOf; ///< By node.
  /// By layer: the layer with which it is placed; itself if it is a node.
  std::vector<int64_t> hostOf;
};

/// The levels, and the devices of each component of the top level.
struct Hierarchy {
  std::vector<PipeDreamLevel> levels;
  std::vector<std::vector<size_t>> components;
};
} // namespace

/// All layers as nodes, with the edges of the forward.
static std::vector<PipeDreamNode> allNodes(const Problem &problem) {
  std::vector<PipeDreamNode> nodes(problem.layers.size());
  for (size_t layer = 0; layer < nodes.size(); ++layer)
    for (const StageTimes &times : problem.layers[layer].times)
      nodes[layer].seconds = std::max(
          nodes[layer].seconds,
          problem.forwardOnly ? times.forward.value : times.total().value);
  for (const LayerValue &value : problem.values) {
    if (value.producer.phase != ActionKind::Forward)
      continue;
    std::vector<size_t> &to = nodes[value.producer.layer].successors;
    bool leaves = false;
    for (const LayerPhase &use : value.uses)
      if (use.layer != value.producer.layer &&
          use.phase == ActionKind::Forward) {
        to.push_back(size_t(use.layer));
        leaves = true;
      }
    if (leaves)
      nodes[value.producer.layer].outputBytes += double(value.bytes.value);
    std::sort(to.begin(), to.end());
    to.erase(std::unique(to.begin(), to.end()), to.end());
  }
  for (const Resident &resident : problem.residents)
    // A parameter that nothing reads has no layer.
    if (resident.kind == ResidentKind::Parameter && !resident.layers.empty())
      nodes[resident.layers.front()].parameterBytes +=
          double(resident.bytes.value);
  return nodes;
}

static Graph graphOf(const Problem &problem) {
  std::vector<PipeDreamNode> all = allNodes(problem);
  size_t count = all.size();
  std::vector<std::vector<size_t>> from(count);
  for (size_t i = 0; i < count; ++i)
    for (size_t to : all[i].successors)
      from[to].push_back(i);
  auto isFree = [&](size_t i) {
    return all[i].seconds == 0 && all[i].parameterBytes == 0;
  };
  auto isInput = [&](size_t i) {
    return isFree(i) && from[i].empty() && all[i].outputBytes == 0;
  };
  auto isUnused = [&](size_t i) {
    return isFree(i) && all[i].successors.empty();
  };
  Graph graph;
  std::vector<int64_t> nodeOf(count, -1);
  for (size_t i = 0; i < count; ++i) {
    graph.hostOf.push_back(int64_t(i));
    const std::vector<size_t> &to = all[i].successors;
    auto user = std::find_if_not(to.begin(), to.end(), isUnused);
    auto maker = std::find_if_not(from[i].rbegin(), from[i].rend(), isInput);
    if (isInput(i) && user != to.end())
      graph.hostOf[i] = int64_t(*user);
    else if (isUnused(i) && maker != from[i].rend())
      graph.hostOf[i] = int64_t(*maker);
    else {
      nodeOf[i] = int64_t(graph.layerOf.size());
      graph.layerOf.push_back(int64_t(i));
    }
  }
  for (int64_t layer : graph.layerOf) {
    graph.nodes.push_back(all[layer]);
    std::vector<size_t> &to = graph.nodes.back().successors;
    std::erase_if(to, [&](size_t other) { return nodeOf[other] < 0; });
    for (size_t &other : to)
      other = size_t(nodeOf[other]);
  }
  return graph;
}

static Hierarchy hierarchyOf(const Problem &problem, const Network &network) {
  std::vector<std::vector<size_t>> hosts(network.numHosts());
  for (size_t device = 0; device < network.size(); ++device)
    hosts[network.hostOf(device)].push_back(device);
  bool areEqual = std::all_of(hosts.begin(), hosts.end(), [&](auto &host) {
    return host.size() == hosts.front().size();
  });
  double inside = std::numeric_limits<double>::infinity(), between = inside;
  for (size_t a = 0; a < network.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      bool together = network.hostOf(a) == network.hostOf(b);
      double &slowest = together ? inside : between;
      slowest = std::min(slowest, network.bandwidth(a, b));
      if (!together)
        slowest = std::min({slowest, network.nic(network.hostOf(a)),
                            network.nic(network.hostOf(b))});
    }
  Hierarchy hierarchy;
  size_t width = hosts.front().size();
  // A limit on replicas applies to a stage over all levels, so it is only
  // supported with one level.
  if (areEqual && width > 1 && hosts.size() > 1 && !problem.maxReplicas) {
    hierarchy.levels = {{int64_t(width), inside},
                        {int64_t(hosts.size()), between}};
    hierarchy.components = hosts;
    return hierarchy;
  }
  hierarchy.levels = {{int64_t(network.size()), std::min(inside, between)}};
  for (const std::vector<size_t> &host : hosts)
    for (size_t device : host)
      hierarchy.components.push_back({device});
  return hierarchy;
}

/// Places the innermost stages of an answer: a stage of the top level takes the
/// next components, and a stage inside it the next devices of each of these.
static void place(const PipeDreamAnswer &answer, const Hierarchy &hierarchy,
                  const std::vector<PipeDreamState> &states, const Graph &graph,
                  Plan &plan) {
  std::vector<size_t> nodes; // Of all stages placed so far.
  auto add = [&](const PipeDreamStage &stage, std::vector<size_t> devices) {
    StagePlan next;
    next.devices = std::move(devices);
    const std::vector<size_t> &upTo = states[stage.end - 1].nodes;
    for (size_t layer = 0; layer < graph.hostOf.size(); ++layer) {
      int64_t host = graph.hostOf[layer];
      size_t node =
          std::lower_bound(graph.layerOf.begin(), graph.layerOf.end(), host) -
          graph.layerOf.begin();
      if (std::binary_search(upTo.begin(), upTo.end(), node) &&
          !std::binary_search(nodes.begin(), nodes.end(), node))
        next.layers.push_back(int64_t(layer));
    }
    nodes = upTo;
    plan.stages.push_back(std::move(next));
  };
  auto component = hierarchy.components.begin();
  for (const PipeDreamStage &stage : answer.stages) {
    auto end = component + stage.replicas;
    std::vector<PipeDreamStage> inner = stage.inner;
    if (inner.empty())
      inner = {{stage.first, stage.end, 1, {}}};
    size_t used = 0;
    for (const PipeDreamStage &part : inner) {
      std::vector<size_t> devices;
      for (auto at = component; at != end; ++at)
        devices.insert(devices.end(), at->begin() + used,
                       at->begin() + used + part.replicas);
      used += part.replicas;
      add(part, std::move(devices));
    }
    component = end;
  }
}

static Result<Plan> plan(const Problem &problem, PipeDreamFormula formula,
                         const char *name) {
  if (Status status = problem.check(); !status)
    return status.error();
  if (problem.stages > 0)
    return Error{std::string("planner '") + name +
                 "' finds the number of stages itself, got stages=" +
                 std::to_string(problem.stages) +
                 "; leave out stages=, or use the planner 'spp' or 'balance'"};
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  Graph graph = graphOf(problem);
  Hierarchy hierarchy = hierarchyOf(problem, *network);
  Result<std::vector<PipeDreamState>> states =
      pipeDreamStates(graph.nodes, graph.nodes.size() + kMostExtraStates);
  if (!states)
    states = chainStates(graph.nodes);
  PipeDreamOptions options;
  options.formula = formula;
  options.maxReplicas = problem.maxReplicas;
  // Without a limit all devices are used: a stage can always be replicated.
  options.useFewer = problem.maxReplicas > 0;
  Result<PipeDreamAnswer> answer =
      solvePipeDream(*states, hierarchy.levels, options);
  if (!answer)
    return answer.error();
  Plan result;
  result.planner = name;
  result.objective = "bottleneck";
  result.value = answer->bottleneck;
  place(*answer, hierarchy, *states, graph, result);
  if (Status status = evaluate(problem, *network, result); !status)
    return status.error();
  return result;
}

Result<Plan> planPipeDream(const Problem &problem) {
  return plan(problem, PipeDreamFormula::Paper, "pipedream");
}

Result<Plan> planPipeDreamCode(const Problem &problem) {
  return plan(problem, PipeDreamFormula::Code, "pipedream-code");
}

} // namespace stagewright
