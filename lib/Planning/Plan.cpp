//===- Plan.cpp - stages on devices, with times and memory ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Plan.h"
#include "stagewright/Planning/AskedStages.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Planning/Placed.h"
#include "stagewright/Support/Names.h"
#include <algorithm>
#include <set>

namespace stagewright {

const char *toString(Binding binding) {
  static constexpr Named<Binding> kNames[] = {
      {Binding::Compute, "compute"},
      {Binding::Channel, "channel"},
      {Binding::AllReduce, "all-reduce"},
      {Binding::Memory, "memory"}};
  return nameIn(kNames, binding);
}

std::string Plan::orderName() const {
  return schedule.empty() ? toString(order) : schedule;
}

GangStages gangStagesOf(const Plan &plan) {
  GangStages stated;
  for (const StagePlan &stage : plan.stages)
    stated.push_back(stage.gangStage);
  return stated;
}

/// Names a stage in an error.
static std::string nameOf(size_t stage) {
  return "stage " + std::to_string(stage) + " of the plan";
}

/// Checks the samples of the replicas of one stage, if the plan states them.
static Status checkRows(const Problem &problem, const StagePlan &stage,
                        size_t number) {
  if (stage.rows.empty())
    return {};
  const std::string otherwise = ", or leave them out and the speed of the "
                                "devices decides";
  if (stage.rows.size() != stage.devices.size())
    return Error{
        nameOf(number) + " has " + std::to_string(stage.devices.size()) +
        " devices, and samples for " + std::to_string(stage.rows.size()) +
        "; state one number for each" + otherwise};
  int64_t sum = 0;
  for (int64_t count : stage.rows) {
    if (count < 1)
      return Error{nameOf(number) + " gives a replica " +
                   std::to_string(count) +
                   " samples, at least 1 is needed; "
                   "take one from another replica, or use fewer replicas"};
    sum += count;
  }
  if (problem.samples > 0 && sum != problem.samples)
    return Error{nameOf(number) + " gives its replicas " + std::to_string(sum) +
                 " samples, a microbatch has " +
                 std::to_string(problem.samples) + "; let them sum up to that" +
                 otherwise};
  for (int64_t layer : stage.layers)
    if (layer >= 0 && layer < int64_t(problem.layers.size()) &&
        !problem.layers[layer].sliceable)
      return Error{nameOf(number) +
                   " shares the samples of a microbatch, but "
                   "layer '" +
                   problem.layers[layer].name + "' mixes its rows" +
                   (problem.layers[layer].mixes.empty()
                        ? ""
                        : ": " + problem.layers[layer].mixes) +
                   "; without shares its replicas take whole microbatches in "
                   "turn"};
  return {};
}

/// Checks the layers that one stage offloads to hosts.
static Status checkOffload(const Problem &problem, const StagePlan &stage,
                           size_t number) {
  for (int64_t layer : stage.offload)
    if (std::find(stage.layers.begin(), stage.layers.end(), layer) ==
        stage.layers.end())
      return Error{nameOf(number) + " offloads layer " + std::to_string(layer) +
                   ", which is not on it; name layers of the stage"};
  if (stage.offload.empty())
    return {};
  if (stage.recompute)
    return Error{nameOf(number) +
                 " runs its forward again and keeps nothing of it to offload; "
                 "leave out one of the two"};
  for (size_t device : stage.devices)
    if (!problem.cluster.devices[device].hostBandwidth)
      return Error{
          nameOf(number) + " offloads to the host of device '" +
          problem.cluster.devices[device].name +
          "', which has no 'host_bandwidth' in the cluster; add it, or "
          "offload nothing"};
  return {};
}

/// Checks layers, devices, replicas, offloading and samples of one stage.
static Status checkStage(const Problem &problem, const Plan &plan,
                         size_t number) {
  const StagePlan &stage = plan.stages[number];
  if (stage.layers.empty() || stage.devices.empty())
    return Error{nameOf(number) + " has no " +
                 (stage.layers.empty() ? "layers" : "devices")};
  if (!std::is_sorted(stage.layers.begin(), stage.layers.end()))
    return Error{nameOf(number) + " lists its layers out of order"};
  std::set<size_t> devices;
  for (size_t device : stage.devices) {
    if (device >= problem.cluster.devices.size())
      return Error{nameOf(number) + " names device " + std::to_string(device) +
                   ", the cluster has " +
                   std::to_string(problem.cluster.devices.size())};
    if (!devices.insert(device).second)
      return Error{nameOf(number) + " names device '" +
                   problem.cluster.devices[device].name + "' twice"};
  }
  int64_t replicas = int64_t(stage.devices.size()) / stage.ways;
  if (problem.maxReplicas > 0 && replicas > problem.maxReplicas)
    return Error{nameOf(number) + " has " + std::to_string(replicas) +
                 " replicas, allowed are " +
                 std::to_string(problem.maxReplicas) +
                 "; allow more, or 0 for any number"};
  if (Status status = checkOffload(problem, stage, number); !status)
    return status;
  return checkRows(problem, stage, number);
}

/// Checks the numbers of the stages of a pipeline of gangs.
static Status checkGangStages(const Plan &plan) {
  GangStages stated = gangStagesOf(plan);
  std::optional<size_t> wrong = firstWrong(stated);
  if (!wrong)
    return {};
  auto textOf = [&](size_t stage) {
    return stated[stage] ? "'gang_stage' " + std::to_string(*stated[stage])
                         : std::string("no 'gang_stage'");
  };
  return Error{
      nameOf(*wrong) + " has " + textOf(*wrong) +
      (*wrong == 0 ? "" : ", the one before it " + textOf(*wrong - 1)) +
      "; give it to all stages or none, first 0, then the same as "
      "that of the stage before or one more"};
}

/// Checks that every layer is on exactly one stage; fills `stageOf`.
static Status checkCover(const Problem &problem, const Plan &plan,
                         std::vector<int64_t> &stageOf) {
  stageOf.assign(problem.layers.size(), -1);
  for (size_t s = 0; s < plan.stages.size(); ++s)
    for (int64_t layer : plan.stages[s].layers) {
      if (layer < 0 || layer >= int64_t(problem.layers.size()))
        return Error{nameOf(s) + " names layer " + std::to_string(layer) +
                     ", the graph has " +
                     std::to_string(problem.layers.size())};
      if (stageOf[layer] >= 0)
        return Error{"layer '" + problem.layers[layer].name +
                     "' lies on stages " + std::to_string(stageOf[layer]) +
                     " and " + std::to_string(s) + " of the plan"};
      stageOf[layer] = s;
    }
  for (size_t layer = 0; layer < stageOf.size(); ++layer)
    if (stageOf[layer] < 0)
      return Error{"layer '" + problem.layers[layer].name +
                   "' lies on no stage of the plan; its stages need all layers "
                   "from 0 to " +
                   std::to_string(stageOf.size() - 1)};
  return {};
}

/// Checks that values of the forward go to the same or a later stage.
static Status checkFlow(const Problem &problem,
                        const std::vector<int64_t> &stageOf) {
  for (const LayerValue &value : problem.values) {
    if (value.producer.phase != ActionKind::Forward)
      continue;
    for (const LayerPhase &use : value.uses)
      if (stageOf[use.layer] < stageOf[value.producer.layer])
        return Error{
            "a value of layer '" + problem.layers[value.producer.layer].name +
            "' on stage " + std::to_string(stageOf[value.producer.layer]) +
            " is used by layer '" + problem.layers[use.layer].name +
            "' on the earlier stage " + std::to_string(stageOf[use.layer]) +
            "; list stages in the order of their layers"};
  }
  return {};
}

/// Checks that the stages of each device together fit in its memory.
static Status checkMemory(const Problem &problem, const Plan &plan) {
  std::vector<Bytes> need(problem.cluster.devices.size());
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    std::vector<Bytes> bytes = memoryOf(problem, plan, s, plan.order);
    for (size_t i = 0; i < bytes.size(); ++i) {
      size_t device = plan.stages[s].devices[i];
      need[device] += bytes[i];
      const Device &place = problem.cluster.devices[device];
      if (need[device] > place.memory)
        return Error{"stage " + std::to_string(s) + " needs " +
                     toString(need[device]) + " on device " + place.name +
                     ", has " + toString(place.memory)};
    }
  }
  return {};
}

Status verifyStages(const Problem &problem, const Plan &plan) {
  if (problem.stages > 0 && int64_t(plan.stages.size()) != problem.stages)
    return Error{"plan has " + std::to_string(plan.stages.size()) +
                 " stages, the problem asks for " +
                 std::to_string(problem.stages) +
                 "; leave that number out or give such a plan"};
  for (size_t s = 0; s < plan.stages.size(); ++s)
    if (Status status = checkStage(problem, plan, s); !status)
      return status;
  if (Status status = checkGangStages(plan); !status)
    return status;
  std::vector<int64_t> stageOf;
  if (Status status = checkCover(problem, plan, stageOf); !status)
    return status;
  if (Status status = verifyAskedStages(problem, plan); !status)
    return status;
  return checkFlow(problem, stageOf);
}

Status verify(const Problem &problem, const Plan &plan) {
  if (Status status = verifyStages(problem, plan); !status)
    return status;
  if (!plan.schedule.empty())
    return verifyPlaced(problem, plan);
  // The planner that chose alternatives has checked their memory.
  bool hasAlternatives =
      std::any_of(plan.stages.begin(), plan.stages.end(),
                  [](const StagePlan &s) { return !s.alternatives.empty(); });
  return hasAlternatives ? Status() : checkMemory(problem, plan);
}

} // namespace stagewright
