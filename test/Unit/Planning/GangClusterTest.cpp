//===- GangClusterTest.cpp - gangs of devices as devices ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gangs/GangCluster.h"

#include <gtest/gtest.h>

using namespace stagewright;

namespace {

// Hosts of 8, 6 and 6 devices. Of five gangs of four devices, the one with
// devices 12 to 15 is on two hosts; the first two share the NIC of one host.
TEST(GangCluster, AShardGetsThePartOfANicThatItHasOnOneHost) {
  Cluster cluster;
  for (int64_t d = 0; d < 20; ++d) {
    Device device;
    device.name = "d" + std::to_string(d);
    device.deviceClass = "gpu";
    device.node = d < 8 ? 0 : d < 14 ? 1 : 2;
    device.memory = Bytes(100);
    cluster.devices.push_back(device);
  }
  cluster.fabric.inside = Joint{Bandwidth(1e11), Seconds(1e-6)};
  cluster.fabric.between = Joint{Bandwidth(1e10), Seconds(1e-5)};
  cluster.fabric.nic = Bandwidth(1e10);
  Result<Network> network = Network::create(cluster);
  ASSERT_TRUE(network) << network.error().message;
  auto nic = [&](bool isBest) {
    return gangCluster(cluster, *network, 4, isBest).cluster.fabric.nic->value;
  };
  EXPECT_DOUBLE_EQ(nic(false), 2.5e9);
  EXPECT_DOUBLE_EQ(nic(true), 1e10);
}

} // namespace
