//===- Formats.cpp - profiles by the name of their format -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Baselines/Formats.h"
#include "stagewright/Support/Names.h"
#include <algorithm>

namespace stagewright {

/// All readers; add a new one here.
static constexpr ProfileFormat kFormats[] = {
    {"chain", readChain},
    {"pipedream", readPipeDream},
    {"dnn-partitioning", readDnnPartitioning},
    {"piper", readPiper},
};

Result<ProfileFormat> findProfileFormat(std::string_view name) {
  return findNamed(kFormats, "profile format", name);
}

/// The index of the class "profiled" in the times of the layers of `problem`.
static Result<size_t> profiledClassOf(const Problem &problem) {
  std::vector<std::string> own = problem.cluster.classes();
  if (own.empty())
    own = {kProfiledClass};
  auto found = std::find(own.begin(), own.end(), kProfiledClass);
  for (const Layer &layer : problem.layers)
    if (found == own.end() || layer.times.size() != own.size())
      return Error{"layer '" + layer.name + "' has no times of class '" +
                   kProfiledClass +
                   "'; the profile has been placed on a cluster already"};
  return size_t(found - own.begin());
}

Status placeOn(Problem &problem, const Cluster &cluster) {
  if (Status status = cluster.check(); !status)
    return status;
  Result<size_t> source = profiledClassOf(problem);
  if (!source)
    return source.error();
  std::vector<double> speeds;
  for (const std::string &name : cluster.classes())
    for (const Device &device : cluster.devices)
      if (device.deviceClass == name) {
        speeds.push_back(device.speed);
        break;
      }
  for (Layer &layer : problem.layers) {
    StageTimes profiled = layer.times[*source];
    layer.times.clear();
    for (double speed : speeds)
      layer.times.push_back({profiled.forward * (1 / speed),
                             profiled.inputGradient * (1 / speed),
                             profiled.weightGradient * (1 / speed)});
  }
  problem.cluster = cluster;
  return {};
}

} // namespace stagewright
