//===- PresetsTest.cpp - clusters by name ---------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Cost/Network.h"
#include <gtest/gtest.h>

using namespace stagewright;

/// The preset's network, after the checks common to all presets.
static Network networkOf(const std::string &name, size_t devices,
                         size_t hosts) {
  Result<Cluster> cluster = loadCluster(name);
  EXPECT_TRUE(cluster);
  EXPECT_TRUE(cluster->check());
  EXPECT_EQ(cluster->devices.size(), devices);
  Result<Network> network = Network::create(*cluster);
  EXPECT_EQ(network->numHosts(), hosts);
  return *network;
}

TEST(Presets, TheListLoads) {
  std::vector<ClusterPreset> list = clusterPresets();
  EXPECT_EQ(list[0].name, "local:N");
  for (size_t i = 1; i < list.size(); ++i) {
    std::string name = list[i].name.substr(0, list[i].name.find('['));
    EXPECT_FALSE(list[i].summary.empty());
    ASSERT_TRUE(loadCluster(name)) << name;
    EXPECT_TRUE(loadCluster(name)->check()) << name;
    EXPECT_EQ(loadCluster(name)->name, name);
    EXPECT_EQ(loadCluster(name + ":3").ok(), list[i].name != name) << name;
  }
}

// Sources: the clusters of the papers of SPP, DAPPLE and PipeDream.
TEST(Presets, PublishedClusters) {
  Network a = networkOf("dapple-a", 16, 2);
  EXPECT_EQ(a.bandwidth(0, 7), 25e9);
  EXPECT_EQ(a.bandwidth(7, 8), 3.125e9);
  EXPECT_EQ(a.nic(1), 3.125e9);
  EXPECT_EQ(a.latency(0, 15), 0);
  EXPECT_EQ(networkOf("dapple-b", 16, 16).bandwidth(0, 1), 3.125e9);
  EXPECT_EQ(networkOf("dapple-c", 16, 16).bandwidth(0, 1), 1.25e9);
  Network p4 = networkOf("pipedream-p4", 16, 4);
  EXPECT_EQ(p4.bandwidth(0, 3), 10e9);
  EXPECT_EQ(p4.nic(0), 1.25e9);
  Network uneven = networkOf("uneven-8-4-2-2", 16, 4);
  EXPECT_EQ(uneven.hostOf(7), 0u);
  EXPECT_EQ(uneven.hostOf(11), 1u);
  EXPECT_EQ(uneven.hostOf(13), 2u);
  EXPECT_EQ(uneven.bandwidth(12, 13), 25e9);
  EXPECT_EQ(uneven.bandwidth(13, 14), 3.125e9);
  networkOf("dapple-a:4", 32, 4);
  networkOf("dapple-c:5", 5, 5);
}

TEST(Presets, CurrentMachines) {
  Network h100 = networkOf("h100:2", 16, 2);
  EXPECT_EQ(h100.bandwidth(0, 7), 450e9);
  EXPECT_EQ(h100.bandwidth(0, 8), 50e9);
  EXPECT_EQ(h100.nic(0), 400e9);
  EXPECT_GT(h100.latency(0, 8), h100.latency(0, 1));
  Cluster h200 = *loadCluster("h200");
  EXPECT_EQ(h200.devices[0].deviceClass, "H200");
  EXPECT_EQ(h200.devices[0].rates.at("bf16"), FlopRate(989.5e12));
  networkOf("b200:128", 1024, 128);
  networkOf("a100", 8, 1);
}
