//===- PlanningData.h - shared inputs of the planners' tests ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Profiles and golden values from the shared data, and clusters to plan for. A
// missing file fails the test that reads it.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_PLANNINGDATA_H
#define STAGEWRIGHT_TEST_PLANNINGDATA_H

#include "stagewright/Planning/Baselines/Formats.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace stagewright {

/// The text of data/`path`.
inline std::string sharedText(const std::string &path) {
  std::ifstream stream(std::string(STAGEWRIGHT_SHARED) + "/data/" + path);
  EXPECT_TRUE(stream) << path << " is missing";
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// data/`path`, read as `format`.
inline Problem sharedProfile(const std::string &path, const char *format) {
  Result<Problem> problem =
      findProfileFormat(format)->read(sharedText(path), path);
  EXPECT_TRUE(problem) << problem.error().message;
  return problem ? *problem : Problem();
}

/// `hosts[h]` devices on host h, of equal speed, with enough memory for all. A
/// single host has no NIC.
inline Cluster hostsOf(const std::vector<int64_t> &hosts, double inside,
                       double between) {
  Cluster cluster;
  cluster.name = "test";
  for (size_t host = 0; host < hosts.size(); ++host)
    for (int64_t i = 0; i < hosts[host]; ++i) {
      Device device;
      device.name = "d" + std::to_string(cluster.devices.size());
      device.deviceClass = "gpu";
      device.node = int64_t(host);
      device.flops = FlopRate(1);
      device.bandwidth = Bandwidth(1);
      device.memory = Bytes(int64_t(1) << 50);
      cluster.devices.push_back(device);
    }
  cluster.fabric.inside = Joint{Bandwidth(inside), Seconds()};
  cluster.fabric.between = Joint{Bandwidth(between), Seconds()};
  if (hosts.size() > 1)
    cluster.fabric.nic = Bandwidth(between);
  return cluster;
}

} // namespace stagewright

#endif // STAGEWRIGHT_TEST_PLANNINGDATA_H
