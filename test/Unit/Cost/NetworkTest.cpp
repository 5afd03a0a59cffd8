//===- NetworkTest.cpp - bandwidth between any two devices ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Cost/Network.h"
#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace stagewright;

/// `count` devices, `perHost` on each host, without links.
static Cluster devices(size_t count, size_t perHost) {
  Cluster cluster;
  cluster.name = "lab";
  for (size_t i = 0; i < count; ++i)
    cluster.devices.push_back({"d" + std::to_string(i), "c",
                               int64_t(i / perHost), FlopRate(1), Bandwidth(1),
                               Bytes(1)});
  return cluster;
}

static Link link(size_t from, size_t to, double bandwidth, double latency = 0) {
  return {from, to, Bandwidth(bandwidth), Seconds(latency)};
}

TEST(Network, OwnLinkComesBeforeTheFabric) {
  Cluster cluster = devices(4, 2);
  cluster.fabric = {Joint{Bandwidth(20), Seconds(1)},
                    Joint{Bandwidth(2), Seconds(5)}, Bandwidth(8)};
  cluster.links = {link(3, 0, 4, 2)};
  Result<Network> network = Network::create(cluster);
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_EQ(network->bandwidth(0, 1), 20);
  EXPECT_EQ(network->latency(1, 0), 1);
  EXPECT_EQ(network->bandwidth(1, 2), 2);
  EXPECT_EQ(network->latency(1, 2), 5);
  EXPECT_EQ(network->bandwidth(0, 3), 4);
  EXPECT_EQ(network->latency(0, 3), 2);
  EXPECT_EQ(network->numHosts(), 2u);
  EXPECT_EQ(network->hostOf(3), 1u);
  EXPECT_EQ(network->nic(1), 8);
  EXPECT_EQ(network->largestBandwidth(), 20);
  EXPECT_TRUE(std::isinf(network->bandwidth(2, 2)));
}

TEST(Network, NothingBetweenHostsIsFasterThanTheNic) {
  Cluster cluster = devices(2, 1);
  cluster.links = {link(0, 1, 10)};
  EXPECT_EQ(Network::create(cluster)->bandwidth(0, 1), 10);
  EXPECT_TRUE(std::isinf(Network::create(cluster)->nic(0)));
  cluster.fabric.nic = Bandwidth(3);
  EXPECT_EQ(Network::create(cluster)->bandwidth(0, 1), 3);
}

TEST(Network, MessagesInsideAHostShareThePortsOfItsDevices) {
  auto network = [](size_t perHost, double port) {
    Cluster cluster = devices(2 * perHost, perHost);
    cluster.fabric = {Joint{Bandwidth(6), Seconds(0)},
                      Joint{Bandwidth(3), Seconds(0)},
                      {},
                      Bandwidth(port)};
    return *Network::create(cluster);
  };
  // Messages inside a host have the speed of the port, which carries one at a
  // time.
  EXPECT_EQ(network(4, 5).bandwidth(0, 1), 5);
  EXPECT_EQ(network(4, 5).bandwidth(0, 4), 3);
  EXPECT_EQ(network(4, 5).lane(0, 1), 0u);
  EXPECT_EQ(network(4, 6).lane(0, 3), 0u);
  // The port carries two messages at a time, in lanes chosen by the peer.
  EXPECT_EQ(network(4, 12).lane(0, 2), 0u);
  EXPECT_EQ(network(4, 12).lane(0, 3), 1u);
  // No lanes: there is only one peer, or the port has the bandwidth for all.
  EXPECT_EQ(network(2, 6).lane(0, 1), std::nullopt);
  EXPECT_EQ(network(4, 18).lane(0, 3), std::nullopt);
}

TEST(Network, MessagesShareTheLanesOfANic) {
  auto network = [](size_t count, size_t perHost, double nic) {
    Cluster cluster = devices(count, perHost);
    cluster.fabric = {Joint{Bandwidth(9), Seconds(0)},
                      Joint{Bandwidth(3), Seconds(0)}, Bandwidth(nic)};
    return *Network::create(cluster);
  };
  // Two hosts with one device each: a NIC has one peer, so no lanes.
  EXPECT_EQ(network(2, 1, 3).lane(0, 1), std::nullopt);
  // Both peers share a lane, unless the NIC has the bandwidth for both.
  EXPECT_EQ(network(3, 1, 3).lane(0, 1), 0u);
  EXPECT_EQ(network(3, 1, 3).lane(0, 2), 0u);
  EXPECT_EQ(network(3, 1, 5).lane(0, 2), 0u);
  EXPECT_EQ(network(3, 1, 6).lane(0, 2), std::nullopt);
  // Hosts of four devices: two lanes per host, then a lane per device.
  for (size_t device = 0; device < 4; ++device) {
    EXPECT_EQ(network(8, 4, 6).lane(device, 5), device % 2);
    EXPECT_EQ(network(8, 4, 12).lane(device, 5), device);
  }
  // Two lanes per device, chosen by the peer.
  EXPECT_EQ(network(8, 2, 12).lane(3, 4), 2u);
  EXPECT_EQ(network(8, 2, 12).lane(3, 5), 3u);
}

TEST(Network, TakesTheWidestPathWhereNoLinkIs) {
  // From 0 to 3: path 0-1-3 has bandwidth 3, path 0-2-3 has 5.
  Cluster cluster = devices(4, 4);
  cluster.links = {link(0, 1, 9, 1), link(1, 3, 3, 1), link(0, 2, 5, 2),
                   link(2, 3, 6, 3)};
  Result<Network> network = Network::create(cluster);
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_EQ(network->bandwidth(0, 3), 5);
  EXPECT_EQ(network->latency(0, 3), 5);
  EXPECT_EQ(network->bandwidth(1, 2), 5);
  EXPECT_EQ(network->bandwidth(1, 3), 3); // The link, not 1-0-2-3.
}

/// The bandwidths of the widest paths by the Floyd-Warshall algorithm.
static std::vector<double> widestByFloyd(const Cluster &cluster) {
  size_t n = cluster.devices.size();
  std::vector<double> wide(n * n, 0);
  for (const Link &l : cluster.links)
    wide[l.from * n + l.to] = wide[l.to * n + l.from] = l.bandwidth.value;
  for (size_t k = 0; k < n; ++k)
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b < n; ++b)
        wide[a * n + b] = std::max(wide[a * n + b],
                                   std::min(wide[a * n + k], wide[k * n + b]));
  return wide;
}

TEST(Network, PathsAreTheWidestOnRandomClusters) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    size_t n = 2 + random() % 9;
    Cluster cluster = devices(n, 3);
    for (size_t a = 0; a < n; ++a)
      for (size_t b = a + 1; b < n; ++b)
        if (b == a + 1 || random() % 4 == 0)
          cluster.links.push_back(link(a, b, 1 + random() % 8));
    std::vector<double> widest = widestByFloyd(cluster);
    Result<Network> network = Network::create(cluster);
    ASSERT_TRUE(network) << network.error().message;
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b < n; ++b) {
        const Link *own = cluster.find(a, b);
        if (a != b)
          EXPECT_EQ(network->bandwidth(a, b),
                    own ? own->bandwidth.value : widest[a * n + b]);
      }
  }
}

TEST(Network, UnreachableDeviceIsAnError) {
  Cluster cluster = devices(4, 2);
  cluster.links = {link(0, 1, 1), link(3, 1, 1)};
  EXPECT_EQ(Network::create(cluster).error().message,
            "no path of links joins devices 'd0' and 'd2'; give a link to one "
            "of them, or a fabric");
  cluster.fabric.inside = Joint{Bandwidth(1), Seconds(0)};
  EXPECT_TRUE(Network::create(cluster));
}

TEST(Network, ManyDevicesAreQuick) {
  Cluster cluster = devices(1024, 8);
  cluster.fabric.inside = Joint{Bandwidth(25), Seconds(0)};
  for (size_t host = 1; host < 128; ++host)
    cluster.links.push_back(link(8 * (host - 1), 8 * host, 3));
  auto start = std::chrono::steady_clock::now();
  Result<Network> network = Network::create(cluster);
  std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(network);
  EXPECT_EQ(network->bandwidth(1, 1023), 3);
  EXPECT_LT(taken.count(), 1);
}
