//===- PiperStep.cpp - a step of a plan with alternatives -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/PiperStep.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Support/Limits.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

/// The alternative of each layer, and the stage that it lies on.
namespace {
struct Chosen {
  std::vector<const Alternative *> of;
  std::vector<size_t> stageOf;
};
} // namespace

static Chosen chosenBy(const Problem &problem, const Plan &plan) {
  Chosen chosen;
  chosen.of.resize(problem.layers.size());
  chosen.stageOf.resize(problem.layers.size());
  for (size_t s = 0; s < plan.stages.size(); ++s)
    for (size_t i = 0; i < plan.stages[s].layers.size(); ++i) {
      int64_t layer = plan.stages[s].layers[i];
      chosen.of[layer] =
          &problem.layers[layer].alternatives[plan.stages[s].alternatives[i]];
      chosen.stageOf[layer] = s;
    }
  return chosen;
}

/// Times of `way` on a device class of `speed`, divided into forward and
/// backward in proportion to those of `plain`, the layer's times.
static StageTimes timesOf(const Alternative &way, const StageTimes &plain,
                          double speed) {
  double forward = plain.forward.value,
         backward = plain.total().value - forward;
  if (forward + backward <= 0)
    forward = 1, backward = 2;
  double once = way.time.value / speed / (forward + backward);
  if (way.recompute)
    once = way.time.value / speed / (2 * forward + backward);
  return {Seconds(forward * once),
          Seconds(way.time.value / speed - forward * once), Seconds(0)};
}

static double speedOf(const Problem &problem, size_t deviceClass) {
  std::vector<size_t> classes = problem.cluster.classOfDevices();
  for (size_t device = 0; device < classes.size(); ++device)
    if (classes[device] == deviceClass)
      return problem.cluster.devices[device].speed;
  return 1;
}

static double syncOf(const std::map<int64_t, double> &syncs, int64_t other) {
  auto found = syncs.find(other);
  return found == syncs.end() ? 0 : found->second;
}

/// `problem` with the times, transfers and parameters of the alternatives.
static Problem alternativeProblem(const Problem &problem,
                                  const Chosen &chosen) {
  Problem result = problem;
  result.stages = result.maxReplicas = result.samples = 0;
  // Alternatives state their own memory; fits() checks it.
  for (Device &device : result.cluster.devices)
    device.memory = Bytes(INT64_MAX / 2);
  for (size_t l = 0; l < result.layers.size(); ++l) {
    Layer &layer = result.layers[l];
    for (size_t c = 0; c < layer.times.size(); ++c)
      layer.times[c] =
          timesOf(*chosen.of[l], layer.times[c], speedOf(problem, c));
  }
  for (LayerValue &value : result.values) {
    double most = 0;
    int64_t from = value.producer.layer;
    for (const LayerPhase &use : value.uses)
      if (chosen.stageOf[use.layer] != chosen.stageOf[from]) {
        int64_t first = std::min(from, use.layer),
                last = std::max(from, use.layer);
        most = std::max(most, syncOf(chosen.of[first]->syncOut, last) +
                                  syncOf(chosen.of[last]->syncIn, first));
      }
    value.bytes += Bytes(std::llround(most));
  }
  result.residents.clear();
  for (size_t l = 0; l < result.layers.size(); ++l)
    result.residents.push_back(
        {chosen.of[l]->parameters, ResidentKind::Gradient, {int64_t(l)}});
  return result;
}

/// Bytes of one replica of stage `s` under `order`.
static Bytes bytesOf(const Problem &problem, const Plan &plan, size_t s,
                     const Chosen &chosen, ExecutionOrder order) {
  const StagePlan &stage = plan.stages[s];
  int64_t replicas = int64_t(stage.devices.size()) / stage.ways;
  int64_t fromEnd = int64_t(plan.stages.size() - s), ahead = 0;
  for (size_t t = s; t < plan.stages.size(); ++t)
    ahead += turnsOf(problem, plan.stages[t]);
  double each =
      takesTurns(problem, stage)
          ? double(inFlightInTurn(order, ahead, replicas, problem.microbatches))
          : double(inFlightOf(order, fromEnd, problem.microbatches)) /
                double(replicas);
  double bytes = 0;
  for (int64_t layer : stage.layers)
    bytes += chosen.of[layer]->memoryPerSample * each +
             chosen.of[layer]->memoryFixed;
  return Bytes(int64_t(std::ceil(std::min(bytes, 9e18))));
}

/// Fails for the first stage that does not fit under `order`.
static Status fits(const Problem &problem, const Plan &plan,
                   const Chosen &chosen, ExecutionOrder order) {
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    Bytes need = bytesOf(problem, plan, s, chosen, order);
    for (size_t device : plan.stages[s].devices) {
      const Device &place = problem.cluster.devices[device];
      if (need > place.memory)
        return Error{"stage " + std::to_string(s) + " needs " + toString(need) +
                     " on device " + place.name + " in the order " +
                     toString(order) + ", has " + toString(place.memory) +
                     "; allow the order 1f1b"};
    }
  }
  return {};
}

/// Simulates `plan` with its alternatives: each group of `ways` devices acts as
/// one device.
static Status simulate(const Problem &problem, const Network &network,
                       Plan &plan) {
  Chosen chosen = chosenBy(problem, plan);
  Problem samples = alternativeProblem(problem, chosen);
  samples.orders.clear();
  Status none;
  for (ExecutionOrder order : problem.orders) {
    Status status = fits(problem, plan, chosen, order);
    if (status)
      samples.orders.push_back(order);
    else
      none = status;
  }
  if (samples.orders.empty())
    return none;
  Plan groups = plan;
  for (StagePlan &stage : groups.stages) {
    std::vector<size_t> leaders;
    for (size_t i = 0; i < stage.devices.size(); i += size_t(stage.ways))
      leaders.push_back(stage.devices[i]);
    stage.devices = std::move(leaders);
    stage.alternatives.clear();
    stage.ways = 1;
    stage.recompute = false;
  }
  if (Status status = evaluate(samples, network, groups); !status)
    return status;
  plan.order = groups.order;
  plan.time = groups.time;
  plan.planBound = groups.planBound;
  plan.upperBound = groups.upperBound;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    StagePlan &stage = plan.stages[s];
    const StagePlan &group = groups.stages[s];
    stage.times = group.times;
    stage.allReduce = group.allReduce;
    stage.tail = group.tail;
    stage.binding = stage.recompute ? Binding::Memory : group.binding;
    stage.memory = bytesOf(problem, plan, s, chosen, plan.order);
  }
  return verify(problem, plan);
}

Status simulateSamples(const Problem &problem, const Network &network,
                       Plan &plan) {
  bool all =
      std::all_of(plan.stages.begin(), plan.stages.end(),
                  [](const StagePlan &s) { return !s.alternatives.empty(); });
  return all ? simulate(problem, network, plan)
             : evaluate(problem, network, plan);
}

} // namespace stagewright
