//===- PlanPipeline.cpp - builds the pipeline of a plan -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanChannels.h"
#include "stagewright/Scheduling/InFlight.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace stagewright {

namespace {
/// Builds the pipeline of one plan.
class Builder {
public:
  Builder(const Problem &problem, const Network &network, Plan &plan)
      : problem(problem), network(network), plan(plan),
        classOf(problem.cluster.classOfDevices()) {}

  PipelineModel build();

private:
  void addNics();
  void addStage(StagePlan &stage);
  void addTail(StagePlan &stage, PipelineStage &result,
               const std::vector<double> &shares) const;
  void addProcessors();
  void addCopies();
  void addTies();

  const Problem &problem;
  const Network &network;
  Plan &plan;
  std::vector<size_t> classOf;             ///< By device.
  std::vector<int64_t> stageOf;            ///< By layer.
  std::vector<std::vector<double>> shares; ///< By stage and replica.
  PipelineModel model;
};
} // namespace

PipelineModel Builder::build() {
  model.microbatches = problem.microbatches;
  model.forwardOnly = problem.forwardOnly;
  model.sharing = problem.model.sharing;
  stageOf.assign(problem.layers.size(), 0);
  for (size_t s = 0; s < plan.stages.size(); ++s)
    for (int64_t layer : plan.stages[s].layers)
      stageOf[layer] = s;
  for (StagePlan &stage : plan.stages)
    addStage(stage);
  addProcessors();
  addNics();
  addCopies();
  addChannels(problem, network, plan, {stageOf, shares}, model);
  addTies();
  if (model.sharing != LinkSharing::Turns)
    model.linkRates.resize(model.numLinks, 0);
  return std::move(model);
}

StageTimes timesOfLayer(const Problem &problem, const StagePlan &stage,
                        size_t number, size_t deviceClass) {
  const Layer &layer = problem.layers[stage.layers[number]];
  StageTimes times = layer.times[deviceClass];
  times.inputGradient += layer.again(stage.levelOf(number), deviceClass);
  return times;
}

/// A stage has the times of its slowest replica; its all-reduce waits for that.
void Builder::addStage(StagePlan &stage) {
  shares.push_back(sharesOf(problem, stage));
  StageTimes slowest;
  for (size_t v = 0; v < stage.devices.size(); ++v) {
    double share = shares.back()[v];
    StageTimes times;
    for (size_t i = 0; i < stage.layers.size(); ++i) {
      StageTimes one =
          timesOfLayer(problem, stage, i, classOf[stage.devices[v]]);
      times.forward += share * one.forward;
      times.inputGradient += share * one.inputGradient;
      times.weightGradient += share * one.weightGradient;
    }
    if (stage.recompute)
      times.inputGradient += times.forward;
    slowest.forward = std::max(slowest.forward, times.forward);
    if (times.inputGradient + times.weightGradient >
        slowest.inputGradient + slowest.weightGradient) {
      slowest.inputGradient = times.inputGradient;
      slowest.weightGradient = times.weightGradient;
    }
  }
  stage.times = slowest;
  stage.copying = copyingTime(problem, stage);
  PipelineStage result;
  result.times = slowest;
  result.copying = stage.copying;
  result.leavingSlots = size_t(slotsLeaving(plan.orderName()));
  addTail(stage, result, shares.back());
  model.stages.push_back(std::move(result));
}

/// Computes the tail: the part of the all-reduce after the last backward. The
/// gradients of a layer can be reduced after its own last backward. Backwards
/// run from the last layer of a stage to the first; collectives run one after
/// another in the same order.
void Builder::addTail(StagePlan &stage, PipelineStage &result,
                      const std::vector<double> &shares) const {
  stage.allReduce = stage.tail = Seconds();
  if (stage.devices.size() < 2 || stage.ways > 1 || problem.forwardOnly)
    return;
  std::map<int64_t, int64_t> bytes; // By the first layer of this stage.
  for (const Resident &resident : problem.residents) {
    if (resident.kind != ResidentKind::Gradient)
      continue;
    size_t here = &stage - plan.stages.data();
    for (int64_t layer : resident.layers)
      if (stageOf[layer] == int64_t(here)) {
        bytes[layer] += resident.bytes.value;
        break;
      }
  }
  if (!problem.model.overlapAllReduce) {
    int64_t sum = 0;
    for (auto [layer, count] : bytes)
      sum += count;
    stage.allReduce = allReduceTime(network, stage.devices, Bytes(sum));
    stage.tail = result.tail = stage.allReduce;
    return;
  }
  // The tail is the max over the layers of the following difference: the
  // all-reduces of the layer and of the layers before it, which start after its
  // backward, minus the backwards of the layers before it, which still run
  // then.
  Seconds reduced, running;
  SlowestPair slowestPair;
  for (size_t a = 0; a < stage.devices.size() && !bytes.empty(); ++a)
    for (size_t b = a + 1; b < stage.devices.size(); ++b)
      slowestPair.add(network, stage.devices[a], stage.devices[b]);
  for (size_t i = 0; i < stage.layers.size(); ++i) {
    int64_t layer = stage.layers[i];
    if (auto found = bytes.find(layer); found != bytes.end()) {
      reduced += allReduceTime(slowestPair, stage.devices.size(),
                               Bytes(found->second));
      stage.tail = std::max(stage.tail, reduced - running);
    }
    Seconds slowest;
    for (size_t v = 0; v < stage.devices.size(); ++v) {
      StageTimes one =
          timesOfLayer(problem, stage, i, classOf[stage.devices[v]]);
      slowest = std::max(slowest,
                         shares[v] * (one.inputGradient + one.weightGradient));
    }
    running += slowest;
  }
  stage.allReduce = reduced;
  result.tail = stage.tail;
  result.overlapped = reduced - stage.tail;
}

/// Stages that share a device share a processor. Replicas that take turns have
/// one each.
void Builder::addProcessors() {
  std::vector<size_t> parent(problem.cluster.devices.size());
  std::iota(parent.begin(), parent.end(), 0);
  auto find = [&](size_t device) {
    while (parent[device] != device)
      device = parent[device] = parent[parent[device]];
    return device;
  };
  for (const StagePlan &stage : plan.stages)
    if (!takesTurns(problem, stage))
      for (size_t device : stage.devices)
        parent[find(device)] = find(stage.devices.front());
  std::map<size_t, size_t> numbers;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const StagePlan &stage = plan.stages[s];
    size_t count = takesTurns(problem, stage) ? stage.devices.size() : 1;
    for (size_t i = 0; i < count; ++i)
      model.stages[s].processors.push_back(
          numbers.try_emplace(find(stage.devices[i]), numbers.size())
              .first->second);
  }
  model.numProcessors = numbers.size();
}

/// Where flows share links, the NIC of each host is two links.
void Builder::addNics() {
  if (model.sharing == LinkSharing::Turns)
    return;
  for (size_t host = 0; host < network.numHosts(); ++host) {
    double rate = 0;
    for (size_t u = 0; u < network.size(); ++u)
      for (size_t v = 0; v < network.size(); ++v)
        if (network.hostOf(u) == host && network.hostOf(v) != host)
          rate = std::max(rate, network.bandwidth(u, v));
    if (std::isfinite(network.nic(host)))
      rate = network.nic(host);
    model.linkRates.insert(model.linkRates.end(), 2, rate);
  }
  model.numLinks = model.linkRates.size();
}

/// Each device has one copy engine to its host and another one from it.
void Builder::addCopies() {
  std::map<size_t, std::pair<size_t, size_t>> engines; // By processor.
  for (PipelineStage &stage : model.stages)
    if (stage.copying > Seconds())
      for (size_t processor : stage.processors) {
        auto [engine, isNew] = engines.try_emplace(processor);
        if (isNew) {
          engine->second = {model.numLinks, model.numLinks + 1};
          model.numLinks += 2;
        }
        stage.leavingLanes.push_back(engine->second.first);
        stage.comingLanes.push_back(engine->second.second);
      }
}

/// A stage that holds a copy of a parameter sends its gradient to the owner
/// after its replicas have summed it, and gets the new value before the next
/// step.
void Builder::addTies() {
  if (problem.forwardOnly)
    return;
  std::map<std::pair<int64_t, int64_t>, int64_t> bytes;
  for (const Resident &resident : problem.residents) {
    if (resident.kind != ResidentKind::Gradient || resident.layers.empty())
      continue;
    int64_t owner = stageOf[resident.layers.front()];
    std::set<int64_t> copies;
    for (int64_t layer : resident.layers)
      if (stageOf[layer] != owner)
        copies.insert(stageOf[layer]);
    for (int64_t copy : copies)
      bytes[{copy, owner}] += resident.bytes.value;
  }
  for (auto [ends, count] : bytes) {
    auto [copy, owner] = ends;
    Seconds once =
        transferTime(network, plan.stages[copy].devices.front(),
                     plan.stages[owner].devices.front(), Bytes(count));
    model.ties.push_back({size_t(copy), size_t(owner), once + once});
  }
}

PipelineModel pipelineOf(const Problem &problem, const Network &network,
                         Plan &plan) {
  return Builder(problem, network, plan).build();
}

} // namespace stagewright
