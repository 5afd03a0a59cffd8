//===- Formats.cpp - profiles by the name of their format -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Formats.h"

namespace stagewright {

/// All readers; a new one adds its line.
static constexpr ProfileFormat kFormats[] = {
    {"chain", readChain},
    {"pipedream", readPipeDream},
    {"dnn-partitioning", readDnnPartitioning},
    {"piper", readPiper},
};

Result<ProfileFormat> findProfileFormat(std::string_view name) {
  std::string known;
  for (const ProfileFormat &format : kFormats) {
    if (name == format.name)
      return format;
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  return Error{"unknown profile format '" + std::string(name) +
               "'; there are " + known};
}

Status placeOn(Problem &problem, const Cluster &cluster) {
  if (Status status = cluster.check(); !status)
    return status;
  std::vector<double> speeds;
  for (const std::string &name : cluster.classes())
    for (const Device &device : cluster.devices)
      if (device.deviceClass == name) {
        speeds.push_back(device.speed);
        break;
      }
  // A reader's own cluster may have more classes; the one profiled comes first.
  std::vector<std::string> old = problem.cluster.classes();
  for (Layer &layer : problem.layers) {
    bool isProfiled =
        layer.times.size() == 1 || (layer.times.size() > 1 && !old.empty() &&
                                    old.front() == kProfiledClass);
    if (!isProfiled)
      return Error{"layer '" + layer.name + "' must have one time, that of '" +
                   kProfiledClass + "', got " +
                   std::to_string(layer.times.size())};
    StageTimes profiled = layer.times.front();
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
