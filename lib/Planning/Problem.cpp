//===- Problem.cpp - checks the input of a planner ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/AskedStages.h"
#include "stagewright/Support/Limits.h"
#include "stagewright/Support/Names.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

/// Max bytes of optimizer state per byte of parameters. No optimizer has as
/// many, so a larger number is a typing error.
static constexpr double kMostStateBytes = 1024;

/// Checks the numbers of stages, microbatches and the like.
static Status checkRequest(const Problem &problem) {
  std::string stages = std::to_string(problem.stages);
  if (problem.stages < 0)
    return Error{"number of stages must be at least 1, or 0 for what is best, "
                 "got " +
                 stages};
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
  if (problem.maxReplicas < 0 || problem.samples < 0)
    return Error{"replicas and samples must be at least 1, or 0 for no limit, "
                 "got " +
                 std::to_string(problem.maxReplicas) + " and " +
                 std::to_string(problem.samples)};
  if (problem.offload == OffloadChoice::All && !problem.forwardOnly &&
      !problem.mayOffload())
    return Error{
        "offload=all needs devices with a 'host_bandwidth', and device '" +
        problem.cluster.devices.front().name + "' of cluster '" +
        problem.cluster.name + "' has none; add it, or leave out offload="};
  if (problem.orders.empty())
    return Error{"no execution order is allowed; allow at least one"};
  if (!(problem.model.optimizerState >= 0) ||
      !(problem.model.optimizerState <= kMostStateBytes))
    return Error{"optimizer state must be from 0 to " +
                 std::to_string(int64_t(kMostStateBytes)) +
                 " bytes for each byte of parameters, got " +
                 std::to_string(problem.model.optimizerState)};
  return {};
}

/// Checks the costs of the layers.
static Status checkLayers(const Problem &problem) {
  if (problem.layers.empty())
    return Error{"the graph has no layers"};
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
                       "' takes a time that is negative or not a number, got " +
                       std::to_string(time.value)};
    if (layer.levels.size() >= kMostLevels)
      return Error{"layer '" + layer.name + "' has " +
                   std::to_string(layer.levels.size()) +
                   " recomputation levels, at most " +
                   std::to_string(kMostLevels - 1) + " are allowed"};
    for (const RecomputeLevel &level : layer.levels)
      if (level.seconds.size() != classes)
        return Error{"a level of layer '" + layer.name + "' has times for " +
                     std::to_string(level.seconds.size()) +
                     " device classes, the cluster has " +
                     std::to_string(classes)};
  }
  return {};
}

/// Checks the layers and bytes of values and residents.
static Status checkValues(const Problem &problem) {
  auto exists = [&](int64_t layer) {
    return layer >= 0 && layer < int64_t(problem.layers.size());
  };
  auto outOfRange = [&](const char *what, int64_t layer) {
    return Error{std::string(what) + " names layer " + std::to_string(layer) +
                 ", the graph has " + std::to_string(problem.layers.size())};
  };
  for (const LayerValue &value : problem.values) {
    if (value.bytes.value < 0)
      return Error{"a value has " + std::to_string(value.bytes.value) +
                   " bytes"};
    if (!exists(value.producer.layer))
      return outOfRange("a value", value.producer.layer);
    if (value.transfer &&
        !(value.transfer->value >= 0 && std::isfinite(value.transfer->value)))
      return Error{
          "a value of layer '" + problem.layers[value.producer.layer].name +
          "' has a transfer time that is negative or not a number, got " +
          std::to_string(value.transfer->value)};
    for (const LayerPhase &use : value.uses) {
      if (!exists(use.layer))
        return outOfRange("a use of a value", use.layer);
      if (value.producer.phase == ActionKind::Forward &&
          use.layer < value.producer.layer)
        return Error{"a value of the forward goes from layer '" +
                     problem.layers[value.producer.layer].name +
                     "' to the earlier layer '" +
                     problem.layers[use.layer].name + "'"};
    }
  }
  for (const Resident &resident : problem.residents) {
    if (resident.bytes.value < 0)
      return Error{"a parameter has " + std::to_string(resident.bytes.value) +
                   " bytes"};
    for (int64_t layer : resident.layers)
      if (!exists(layer))
        return outOfRange("a parameter", layer);
    if (!std::is_sorted(resident.layers.begin(), resident.layers.end()))
      return Error{"a parameter lists its layers out of order"};
  }
  return {};
}

static constexpr Named<OffloadChoice> kOffloadNames[] = {
    {OffloadChoice::None, "none"},
    {OffloadChoice::Auto, "auto"},
    {OffloadChoice::All, "all"}};

const char *toString(OffloadChoice choice) {
  return nameIn(kOffloadNames, choice);
}

Result<OffloadChoice> parseOffloadChoice(std::string_view name) {
  if (auto choice = valueIn(kOffloadNames, "offload", name))
    return choice;
  return Error{"offload must be auto, none or all, got '" + std::string(name) +
               "'"};
}

bool Problem::mayOffload() const {
  return offload != OffloadChoice::None && !forwardOnly &&
         std::any_of(cluster.devices.begin(), cluster.devices.end(),
                     [](const Device &device) { return device.hostBandwidth; });
}

Bytes Problem::gradients() const {
  Bytes bytes;
  for (const Resident &resident : residents)
    if (resident.kind == ResidentKind::Gradient && !resident.layers.empty())
      bytes += resident.bytes;
  return bytes;
}

int64_t Problem::mostLevels() const {
  size_t most = 0;
  for (const Layer &layer : layers)
    most = std::max(most, layer.levels.size());
  return int64_t(most);
}

Status Problem::check() const {
  if (Status status = cluster.check(); !status)
    return status;
  if (Status status = checkRequest(*this); !status)
    return status;
  if (Status status = checkLayers(*this); !status)
    return status;
  if (Status status = checkAskedStages(*this); !status)
    return status;
  return checkValues(*this);
}

} // namespace stagewright
