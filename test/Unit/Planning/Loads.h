//===- Loads.h - loads of an assignment, for tests --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes loads by the definition of the max-load problem from the problem's
// values only, independently of the planners' code: the compute of a device's
// layers, and once each value that connects a layer here with a layer
// elsewhere. A host pays for no value.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_UNIT_PLANNING_LOADS_H
#define STAGEWRIGHT_TEST_UNIT_PLANNING_LOADS_H

#include "stagewright/Planning/Baselines/Formats.h"
#include "stagewright/Planning/Plan.h"
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace stagewright::test {

/// The max load if layer l is on device `deviceOf[l]`; values must state their
/// transfer times.
inline double maxLoad(const Problem &problem,
                      const std::vector<size_t> &deviceOf) {
  std::vector<size_t> classOf = problem.cluster.classOfDevices();
  std::vector<double> load(classOf.size(), 0);
  for (size_t layer = 0; layer < deviceOf.size(); ++layer) {
    const StageTimes &times =
        problem.layers[layer].times[classOf[deviceOf[layer]]];
    load[deviceOf[layer]] += times.total().value;
  }
  std::vector<std::string> names = problem.cluster.classes();
  for (const LayerValue &value : problem.values) {
    std::vector<size_t> devices = {deviceOf[value.producer.layer]};
    for (const LayerPhase &use : value.uses)
      devices.push_back(deviceOf[use.layer]);
    std::sort(devices.begin(), devices.end());
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
    for (size_t device : devices)
      if (devices.size() > 1 && names[classOf[device]] != kHostClass)
        load[device] += value.transfer->value;
  }
  return *std::max_element(load.begin(), load.end());
}

/// The device of each layer under `plan`.
inline std::vector<size_t> devicesOf(const Problem &problem, const Plan &plan) {
  std::vector<size_t> deviceOf(problem.layers.size());
  for (const StagePlan &stage : plan.stages)
    for (int64_t layer : stage.layers)
      deviceOf[layer] = stage.devices.front();
  return deviceOf;
}

inline std::string readShared(const std::string &path) {
  std::ifstream stream(std::string(STAGEWRIGHT_SHARED) + "/data/" + path);
  EXPECT_TRUE(stream) << path << " is missing";
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// A workload of dnn-partitioning, such as "layers/gnmt_training".
inline Problem readWorkload(const std::string &name) {
  std::string path = "dnn-partitioning/" + name + ".json";
  Result<Problem> problem = readDnnPartitioning(readShared(path), path);
  EXPECT_TRUE(problem) << problem.error().message;
  return problem ? *problem : Problem();
}

/// The golden max-load of a workload in column `column`.
inline double goldenLoad(const std::string &name, const char *column) {
  size_t slash = name.find('/');
  nlohmann::json all =
      nlohmann::json::parse(readShared("golden/planners.json"));
  return all["dnn_partitioning_max_load"]
            [name[0] == 'l' ? "layer_graphs" : "operator_graphs"]
            [name.substr(slash + 1)][column];
}

} // namespace stagewright::test

#endif // STAGEWRIGHT_TEST_UNIT_PLANNING_LOADS_H
