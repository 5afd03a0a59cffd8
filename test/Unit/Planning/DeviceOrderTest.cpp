//===- DeviceOrderTest.cpp - order in which stages take devices -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/DeviceOrder.h"
#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

using namespace stagewright;

using Order = std::vector<size_t>;

/// Equal devices; a link of bandwidth(a, b) between every two.
static Cluster
clusterOf(size_t count, size_t perHost,
          const std::function<double(size_t, size_t)> &bandwidth) {
  Cluster cluster;
  cluster.name = "lab";
  for (size_t a = 0; a < count; ++a) {
    cluster.devices.push_back({"d" + std::to_string(a), "c",
                               int64_t(a / perHost), FlopRate(1), Bandwidth(1),
                               Bytes(1)});
    for (size_t b = a + 1; b < count; ++b)
      cluster.links.push_back({a, b, Bandwidth(bandwidth(a, b)), Seconds(0)});
  }
  return cluster;
}

static Order recursiveOrderOf(const Cluster &cluster) {
  return recursiveOrder(*Network::create(cluster));
}

static std::vector<Order> candidatesOf(const Cluster &cluster, size_t most) {
  return candidateOrders(cluster, *Network::create(cluster), most);
}

static Cluster randomCluster(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  return clusterOf(count, 1,
                   [&](size_t, size_t) { return 1 + random() % 1000; });
}

static nlohmann::json goldenOf(const char *name) {
  std::ifstream file(STAGEWRIGHT_SHARED "/data/golden/planners.json");
  EXPECT_TRUE(file) << "the golden values are missing";
  return nlohmann::json::parse(file)["worked_examples"][name];
}

TEST(RecursiveOrder, GoldenExamples) {
  EXPECT_EQ(
      recursiveOrderOf(clusterOf(
          6, 6, [](size_t a, size_t b) { return a % 2 == b % 2 ? 10 : 1; })),
      goldenOf("RDO1")["order"].get<Order>());
  Order place = goldenOf("RDO2")["perm"].get<Order>();
  Order order = recursiveOrderOf(clusterOf(8, 8, [&](size_t a, size_t b) {
    a = place[a];
    b = place[b];
    return a / 2 == b / 2 ? 16 : a / 4 == b / 4 ? 8 : 1;
  }));
  EXPECT_EQ(order, goldenOf("RDO2")["order_ids"].get<Order>());
  for (size_t &device : order)
    device = place[device];
  EXPECT_EQ(order, goldenOf("RDO2")["order_physical"].get<Order>());
}

TEST(RecursiveOrder, EqualLinksKeepTheNumbers) {
  EXPECT_EQ(recursiveOrderOf(clusterOf(5, 5, [](size_t, size_t) { return 3; })),
            (Order{0, 1, 2, 3, 4}));
  EXPECT_EQ(recursiveOrderOf(clusterOf(1, 1, {})), Order{0});
}

TEST(RecursiveOrder, AWeaklyJoinedDeviceComesLast) {
  EXPECT_EQ(
      recursiveOrderOf(clusterOf(
          4, 4, [](size_t a, size_t b) { return a == 1 || b == 1 ? 1 : 8; })),
      (Order{0, 2, 3, 1}));
}

// Three hosts are connected in a line 0 - 2 - 1, and devices are numbered in
// turn over the hosts. The order keeps the devices of each host together and
// puts the middle host second.
TEST(RecursiveOrder, HostsStayTogetherAndFollowTheirLinks) {
  Cluster cluster = clusterOf(12, 12, [](size_t a, size_t b) {
    size_t x = a % 3, y = b % 3;
    return x == y ? 25 : x == 2 || y == 2 ? 6 : 3;
  });
  for (size_t device = 0; device < 12; ++device)
    cluster.devices[device].node = device % 3;
  Order order = recursiveOrderOf(cluster);
  EXPECT_EQ(order, (Order{0, 3, 6, 9, 2, 5, 8, 11, 1, 4, 7, 10}));
}

TEST(RecursiveOrder, ManyDevicesInRacksOfHostsAreQuick) {
  Cluster cluster = clusterOf(1024, 8, [](size_t a, size_t b) {
    return a / 8 == b / 8 ? 25 : a / 64 == b / 64 ? 6 : 3;
  });
  Result<Network> network = Network::create(cluster);
  auto start = std::chrono::steady_clock::now();
  Order order = recursiveOrder(*network);
  std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), 1);
  size_t crossings = 0; // Of rack borders; at least 15 for 16 racks.
  for (size_t i = 0; i + 1 < order.size(); ++i)
    crossings += order[i] / 64 != order[i + 1] / 64;
  EXPECT_EQ(crossings, 15u);
}

TEST(CandidateOrders, OneOrderWhereAllIsEqual) {
  auto flat = clusterOf(6, 2, [](size_t, size_t) { return 2; });
  EXPECT_EQ(candidatesOf(flat, 64), std::vector<Order>{recursiveOrderOf(flat)});
  auto hosts = clusterOf(
      8, 4, [](size_t a, size_t b) { return a / 4 == b / 4 ? 9 : 2; });
  EXPECT_EQ(candidatesOf(hosts, 64),
            std::vector<Order>{recursiveOrderOf(hosts)});
}

TEST(CandidateOrders, HostsOfUnequalSizeComeInBothDirections) {
  auto uneven = clusterOf(
      3, 2, [](size_t a, size_t b) { return a / 2 == b / 2 ? 9 : 2; });
  EXPECT_EQ(candidatesOf(uneven, 64),
            (std::vector<Order>{{0, 1, 2}, {2, 1, 0}}));
}

/// The devices of an order as "sffs", by class: slow, fast.
static std::set<std::string> mixesOf(const Cluster &cluster) {
  std::set<std::string> mixes;
  for (const Order &order : candidatesOf(cluster, 64)) {
    std::string mix;
    for (size_t device : order)
      mix += cluster.devices[device].deviceClass == "slow" ? 's' : 'f';
    mixes.insert(mix);
  }
  return mixes;
}

static Cluster slowAndFast(size_t devices, std::initializer_list<size_t> slow) {
  Cluster cluster =
      clusterOf(devices, devices, [](size_t, size_t) { return 2; });
  for (size_t device : slow) {
    cluster.devices[device].deviceClass = "slow";
    cluster.devices[device].speed = 0.5;
  }
  return cluster;
}

TEST(CandidateOrders, FewUnequalDevicesComeInEveryMix) {
  Cluster cluster = slowAndFast(4, {0, 2});
  std::vector<Order> orders = candidatesOf(cluster, 64);
  EXPECT_EQ(orders[0], (Order{0, 1, 2, 3}));
  EXPECT_EQ(orders[1], (Order{3, 2, 1, 0}));
  EXPECT_EQ(orders.size(), 6u); // 4! / (2! 2!)
  EXPECT_EQ(mixesOf(cluster), (std::set<std::string>{"ffss", "fsfs", "fssf",
                                                     "sffs", "sfsf", "ssff"}));
}

TEST(CandidateOrders, ManyUnequalDevicesComeFastFirstAndLast) {
  // 10! / (5! 5!) = 252 mixes are too many.
  std::set<std::string> mixes = mixesOf(slowAndFast(10, {0, 2, 4, 6, 8}));
  EXPECT_TRUE(mixes.count("fffffsssss"));
  EXPECT_TRUE(mixes.count("sssssfffff"));
  EXPECT_TRUE(mixes.count("sfsfsfsfsf"));
}

TEST(CandidateOrders, DistinctPermutationsAndNotTooMany) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Cluster cluster = randomCluster(2 + seed % 9, seed);
    size_t most = 1 + seed % 40;
    std::vector<Order> orders = candidatesOf(cluster, most);
    EXPECT_LE(orders.size(), most);
    EXPECT_EQ(std::set<Order>(orders.begin(), orders.end()).size(),
              orders.size());
    EXPECT_EQ(orders[0], recursiveOrderOf(cluster));
    for (Order order : orders) {
      std::sort(order.begin(), order.end());
      for (size_t i = 0; i < order.size(); ++i)
        EXPECT_EQ(order[i], i);
    }
    EXPECT_EQ(orders, candidatesOf(cluster, most));
  }
}

// Fast links that form a ring: an order that uses only these exists.
TEST(CandidateOrders, FindsThePathOfFastLinks) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    size_t count = 5 + seed % 4;
    Order ring(count);
    for (size_t i = 0; i < count; ++i)
      ring[i] = i;
    std::shuffle(ring.begin(), ring.end(), random);
    Cluster cluster = clusterOf(count, count, [&](size_t a, size_t b) {
      size_t x = std::find(ring.begin(), ring.end(), a) - ring.begin();
      size_t y = std::find(ring.begin(), ring.end(), b) - ring.begin();
      return (x + 1) % count == y || (y + 1) % count == x ? 8 : 1;
    });
    double best = 0;
    for (const Order &order : candidatesOf(cluster, 64)) {
      double slowest = 8;
      for (size_t i = 0; i + 1 < count; ++i)
        slowest = std::min(
            slowest, cluster.find(order[i], order[i + 1])->bandwidth.value);
      best = std::max(best, slowest);
    }
    EXPECT_EQ(best, 8);
  }
}
