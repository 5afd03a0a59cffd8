//===- SppOrderTest.cpp - devices with shuffled numbers -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Problems on which RDO's list has a gain above 2 %: 16 devices,
// 25 GB/s inside a host, NICs of 3.125 GB/s, shuffled device numbers.
//
//===----------------------------------------------------------------------===//

#include "PlanningData.h"
#include "RandomInstances.h"
#include "Spp/Spp.h"
#include "stagewright/Planning/Planners.h"
#include <cstdio>
#include <numeric>

using namespace stagewright;
using namespace stagewright::testing;

static Cluster hosts(size_t count, const std::vector<size_t> &places) {
  Cluster cluster;
  cluster.name = "hosts";
  cluster.fabric.inside = Joint{Bandwidth(25e9), Seconds(0)};
  cluster.fabric.between = Joint{Bandwidth(3.125e9), Seconds(0)};
  cluster.fabric.nic = Bandwidth(3.125e9);
  for (size_t place : places) {
    Device device;
    device.name = "d" + std::to_string(cluster.devices.size());
    device.deviceClass = "v100";
    device.node = int64_t(place * count / places.size());
    device.flops = FlopRate(1.25e14);
    device.bandwidth = Bandwidth(9e11);
    cluster.devices.push_back(device);
  }
  return cluster;
}

/// The chain in the prototype's cost model.
static Problem chainOn(const char *chain, Cluster cluster,
                       int64_t microbatches) {
  Problem problem =
      sharedProfile("chains/" + std::string(chain) + ".chain", "chain");
  problem.microbatches = microbatches;
  problem.model.overlapAllReduce = false;
  problem.model.sharedNics = false;
  for (Device &device : cluster.devices)
    device.memory = Bytes(int64_t(1) << 50);
  EXPECT_TRUE(placeOn(problem, cluster));
  return problem;
}

static double timeOn(const Problem &problem, const std::vector<size_t> &list) {
  Network network = *Network::create(problem.cluster);
  std::vector<size_t> reverse(list.rbegin(), list.rend());
  Result<Plan> plan = planOnLists(problem, network, {list, reverse});
  EXPECT_TRUE(plan.ok());
  return plan->time.value;
}

TEST(SppOrder, RecoversTheGainOfTheKnownOrder) {
  struct Row {
    const char *chain;
    int64_t microbatches;
  };
  constexpr Row rows[] = {
      {"gnmt16", 16}, {"bert48", 32}, {"xlnet36", 128}, {"amoeba36", 128}};
  constexpr uint64_t kSeeds = std::max<uint64_t>(8 / kPart, 1);
  double sum = 0, least = 1;
  int count = 0;
  std::vector<size_t> places(16);
  std::iota(places.begin(), places.end(), 0);
  for (size_t perCluster : {2, 4})
    for (const Row &row : rows) {
      double known = timeOn(
          chainOn(row.chain, hosts(perCluster, places), row.microbatches),
          places);
      for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
        Draw draw(seed);
        std::vector<size_t> shuffled = places;
        for (size_t i = shuffled.size(); i > 1; --i)
          std::swap(shuffled[i - 1], shuffled[draw.whole(0, int64_t(i) - 1)]);
        Problem problem =
            chainOn(row.chain, hosts(perCluster, shuffled), row.microbatches);
        double given = timeOn(problem, places);
        Result<Plan> plan = planSpp(problem);
        ASSERT_TRUE(plan.ok());
        if (given <= known * 1.02)
          continue;
        double part = (given - plan->time.value) / (given - known);
        sum += part;
        least = std::min(least, part);
        ++count;
      }
    }
  std::printf("seeds 1 to %llu, %d shuffles that cost over 2 %%: %.4f of the "
              "gain in the mean, %.4f at least\n",
              (unsigned long long)kSeeds, count, sum / count, least);
  ASSERT_GT(count, 4 * int(kSeeds));
  EXPECT_GE(sum / count, 0.95);
}
