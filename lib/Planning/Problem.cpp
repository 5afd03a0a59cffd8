//===- Problem.cpp - what a planner is asked ------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Problem.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Support/Limits.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

size_t Problem::classOf(size_t device) const {
  std::vector<std::string> classes = cluster.classes();
  return std::find(classes.begin(), classes.end(),
                   cluster.devices[device].deviceClass) -
         classes.begin();
}

/// Stages, microbatches and schedule.
static Status checkRequest(const Problem &problem) {
  std::string stages = std::to_string(problem.stages);
  if (problem.stages < 1)
    return Error{"number of stages must be at least 1, got " + stages};
  if (problem.microbatches < 1 || problem.microbatches > kMostMicrobatches)
    return Error{"number of microbatches must be from 1 to " +
                 std::to_string(kMostMicrobatches) + ", got " +
                 std::to_string(problem.microbatches)};
  if (problem.stages > int64_t(problem.layers.size()))
    return Error{
        stages + " stages need at least " + stages + " layers, the graph has " +
        std::to_string(problem.layers.size()) + "; ask for fewer stages"};
  if (problem.stages > int64_t(problem.cluster.devices.size()))
    return Error{stages + " stages need " + stages + " devices, cluster '" +
                 problem.cluster.name + "' has " +
                 std::to_string(problem.cluster.devices.size()) +
                 "; ask for fewer stages or a larger cluster"};
  for (int64_t stage = 1; stage < problem.stages; ++stage)
    if (!problem.cluster.find(stage - 1, stage))
      return Error{"devices '" + problem.cluster.devices[stage - 1].name +
                   "' and '" + problem.cluster.devices[stage].name +
                   "' hold neighbouring stages and have no link; order the "
                   "devices along their links"};
  Result<Generator> generator = findGenerator(problem.schedule);
  if (!generator)
    return generator.error();
  return {};
}

/// Costs of the layers.
static Status checkLayers(const Problem &problem) {
  size_t classes = problem.cluster.classes().size();
  for (const Layer &layer : problem.layers) {
    if (layer.times.size() != classes)
      return Error{"layer '" + layer.name + "' has times for " +
                   std::to_string(layer.times.size()) +
                   " device classes, the cluster has " +
                   std::to_string(classes)};
    for (const StageTimes &times : layer.times)
      for (Seconds time :
           {times.forward, times.inputGradient, times.weightGradient})
        if (!(time.value >= 0) || !std::isfinite(time.value))
          return Error{"layer '" + layer.name +
                       "' takes a time that is negative or no number, got " +
                       std::to_string(time.value)};
  }
  return {};
}

/// Numbers of layers and bytes.
static Status checkValues(const Problem &problem) {
  auto exists = [&](int64_t layer) {
    return layer >= 0 && layer < int64_t(problem.layers.size());
  };
  auto outOfRange = [&](const char *what, int64_t layer) {
    return Error{std::string(what) + " names layer " + std::to_string(layer) +
                 ", the graph has " + std::to_string(problem.layers.size())};
  };
  for (const Value &value : problem.values) {
    if (value.bytes.value < 0)
      return Error{"a value has " + std::to_string(value.bytes.value) +
                   " bytes"};
    if (!exists(value.producer.layer))
      return outOfRange("a value", value.producer.layer);
    for (const LayerPhase &use : value.uses)
      if (!exists(use.layer))
        return outOfRange("a use of a value", use.layer);
  }
  for (const Resident &resident : problem.residents) {
    if (resident.bytes.value < 0)
      return Error{"a parameter has " + std::to_string(resident.bytes.value) +
                   " bytes"};
    for (int64_t layer : resident.layers)
      if (!exists(layer))
        return outOfRange("a parameter", layer);
  }
  return {};
}

Status Problem::check() const {
  if (Status status = cluster.check(); !status)
    return status;
  if (Status status = checkRequest(*this); !status)
    return status;
  if (Status status = checkLayers(*this); !status)
    return status;
  return checkValues(*this);
}

} // namespace stagewright
