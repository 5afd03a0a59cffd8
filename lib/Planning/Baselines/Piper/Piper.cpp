//===- Piper.cpp - Piper's planner ----------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaxLoad/Ideals.h"
#include "Piper/PiperSearch.h"
#include "stagewright/Planning/Baselines/Baselines.h"
#include "stagewright/Planning/DeviceOrder.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Planning/PiperStep.h"
#include "stagewright/Support/Infinity.h"
#include <algorithm>

namespace stagewright {

/// Max number of downsets: 1,500 have 10^6 pairs. With more, only the chain is
/// searched.
static constexpr size_t kMostDownsets = 1500;

/// For n from 0 on, the set of the first n layers: a downset, since layers are
/// in topological order.
static std::vector<LayerSet> prefixesOf(const PiperModel &model) {
  std::vector<LayerSet> prefixes(1, LayerSet(model.numLayers, false));
  for (int64_t layer = 0; layer < model.numLayers; ++layer) {
    prefixes.push_back(prefixes.back());
    prefixes.back()[layer] = true;
  }
  return prefixes;
}

/// All sets of layers closed under predecessors, smaller ones first; none if
/// there are too many.
static std::vector<LayerSet> downsetsOf(const PiperModel &model) {
  LoadGraph graph;
  for (int64_t layer = 0; layer < model.numLayers; ++layer) {
    graph.layers.push_back({layer});
    graph.before.emplace_back();
    for (const PiperModel::Edge &edge : model.edges(layer, true))
      graph.before.back().push_back(int(edge.other));
  }
  std::optional<Ideals> ideals = Ideals::create(graph, kMostDownsets);
  std::vector<LayerSet> sets(ideals ? ideals->size() : 0,
                             LayerSet(model.numLayers, false));
  for (size_t i = 0; i < sets.size(); ++i)
    for (int node : ideals->nodesOf(int(i)))
      sets[i][node] = true;
  return sets;
}

/// The error if no plan fits: how much memory the smallest plan lacks.
static Error doesNotFit(const Problem &problem, const PiperModel &model,
                        const std::vector<LayerSet> &downsets,
                        const PiperLimits &limits) {
  PiperSearch search(model, downsets, limits, PiperSearch::Objective::Bytes,
                     kInfinity);
  std::string request = limits.stages > 0
                            ? " in " + std::to_string(limits.stages) + " stages"
                            : std::string();
  if (search.best() == kInfinity)
    return Error{"no plan" + request + " on " + std::to_string(limits.devices) +
                 " devices has a way to run every layer; ask for fewer stages "
                 "or more devices"};
  Bytes need(int64_t(std::min(search.best(), 9e18)));
  Bytes has(int64_t(model.memory));
  return Error{"no plan" + request + " on " + std::to_string(limits.devices) +
               " devices fits in memory; the smallest one needs " +
               toString(need) + " on a device of cluster '" +
               problem.cluster.name + "', has " + toString(has) +
               "; use more devices, or devices with " + toString(need - has) +
               " more"};
}

/// The plan with `picks` as stages, which take `devices` in order.
static Plan writePlan(const PiperModel &model,
                      const std::vector<PiperPick> &picks,
                      const std::vector<size_t> &devices) {
  Plan plan;
  plan.planner = "piper";
  plan.objective = "time-per-sample";
  size_t next = 0;
  for (const PiperPick &pick : picks) {
    StagePlan stage;
    stage.layers = pick.layers;
    stage.ways = pick.ways;
    for (int64_t i = 0; i < pick.ways * pick.replicas; ++i)
      stage.devices.push_back(devices[next++]);
    LayerSet isHere(model.numLayers, false);
    for (int64_t layer : pick.layers)
      isHere[layer] = true;
    PiperStage costs(model, pick.layers, isHere, pick.ways, pick.replicas);
    for (const PiperModel::Choice *choice : costs.pick(pick.inFlight)) {
      stage.recompute |= choice->recompute;
      if (choice->alternative)
        stage.alternatives.push_back(choice->number);
    }
    // Only a stage all of whose layers have alternatives states them, as in
    // profiles of Piper.
    if (stage.alternatives.size() != stage.layers.size())
      stage.alternatives.clear();
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

Result<double> timePerSample(const Problem &problem, const Network &network,
                             const Plan &plan) {
  PiperModel model(problem, network);
  int64_t later = 0;
  double most = 0;
  for (size_t s = plan.stages.size(); s-- > 0;) {
    const StagePlan &stage = plan.stages[s];
    int64_t replicas = int64_t(stage.devices.size()) / stage.ways;
    later += replicas;
    LayerSet isHere(model.numLayers, false);
    for (int64_t layer : stage.layers)
      isHere[layer] = true;
    PiperStage costs(model, stage.layers, isHere, stage.ways, replicas);
    std::vector<size_t> numbers = stage.alternatives;
    if (numbers.empty())
      numbers.assign(stage.layers.size(), stage.recompute);
    int64_t inFlight = (later + replicas - 1) / replicas;
    double seconds =
        costs.isPossible() ? costs.secondsOf(numbers, inFlight) : kInfinity;
    if (seconds == kInfinity)
      return Error{"stage " + std::to_string(s) + " does not fit with " +
                   std::to_string(inFlight) + " samples in flight on " +
                   std::to_string(stage.ways) + " ways"};
    most = std::max(most, seconds);
  }
  return most;
}

Result<Plan> planPiper(const Problem &problem) {
  if (Status status = problem.check(); !status)
    return status.error();
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  PiperModel model(problem, *network);
  PiperLimits limits;
  limits.devices = int64_t(problem.cluster.devices.size());
  limits.replicas =
      problem.maxReplicas > 0 ? problem.maxReplicas : limits.devices;
  limits.stages = problem.stages;

  // The best plan of the chain is an upper bound for the search of the graph.
  std::vector<LayerSet> prefixes = prefixesOf(model);
  PiperSearch chain(model, prefixes, limits, PiperSearch::Objective::Seconds,
                    kInfinity);
  std::vector<LayerSet> downsets = downsetsOf(model);
  bool isChain = downsets.empty() || downsets.size() == prefixes.size();
  const std::vector<LayerSet> &searched = isChain ? prefixes : downsets;
  std::optional<PiperSearch> graph;
  if (!isChain)
    graph.emplace(model, downsets, limits, PiperSearch::Objective::Seconds,
                  chain.best());
  const PiperSearch &search = isChain ? chain : *graph;
  if (search.best() == kInfinity)
    return doesNotFit(problem, model, searched, limits);

  Plan plan = writePlan(model, search.stages(), recursiveOrder(*network));
  plan.value = search.best();
  if (downsets.empty())
    plan.explanation.push_back("the graph has more than " +
                               std::to_string(kMostDownsets) +
                               " downsets; only stages that cut the order of "
                               "the layers were searched");
  if (Status status = simulateSamples(problem, *network, plan); !status)
    return status.error();
  return plan;
}

} // namespace stagewright
