//===- LocalSearchTest.cpp - devices with more than one stage -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Builds.h"
#include "Loads.h"
#include "MaxLoad/LoadAssignment.h"
#include "stagewright/Planning/Baselines/Baselines.h"
#include <map>
#include <numeric>
#include <random>

using namespace stagewright;
using namespace stagewright::test;

namespace {

/// The max number of stages on one device of `plan`.
int64_t mostStages(const Plan &plan) {
  std::map<size_t, int64_t> count;
  int64_t most = 0;
  for (const StagePlan &stage : plan.stages)
    most = std::max(most, ++count[stage.devices.front()]);
  return most;
}

TEST(LocalSearch, ReachesThePublishedBaseline) {
  STAGEWRIGHT_SKIP_IN_SLOW_BUILDS();
  for (const char *name : {"layers/bert24_inference", "layers/bert24_training",
                           "layers/gnmt_inference"}) {
    Problem problem = readWorkload(name);
    Result<Plan> plan = planLocalSearch(problem);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_LE(plan->value, goldenLoad(name, "local_search")) << name;
    EXPECT_NEAR(maxLoad(problem, devicesOf(problem, *plan)), plan->value, 1e-6)
        << name;
  }
}

/// The whole decoder uses the encoder's values, so contiguity costs 17 %.
TEST(LocalSearch, PaysOnGnmtTraining) {
  STAGEWRIGHT_SKIP_IN_SLOW_BUILDS();
  Problem problem = readWorkload("layers/gnmt_training");
  problem.microbatches = 128;
  Result<Plan> plan = planLocalSearch(problem);
  Result<Plan> contiguous = planIdealDp(problem);
  ASSERT_TRUE(plan && contiguous);
  double load = maxLoad(problem, devicesOf(problem, *plan));
  EXPECT_LE(load, goldenLoad("layers/gnmt_training", "local_search"));
  EXPECT_LE(load, 0.9 * goldenLoad("layers/gnmt_training", "dp"));
  EXPECT_LE(load, 0.9 * maxLoad(problem, devicesOf(problem, *contiguous)));
  EXPECT_GT(mostStages(*plan), 1);
  EXPECT_EQ(mostStages(*contiguous), 1);
  // The simulated step is faster too, not only the max load smaller.
  EXPECT_LE(plan->time.value, 0.9 * contiguous->time.value);
  EXPECT_GE(plan->time.value, plan->familyBound.value);
}

TEST(LocalSearch, TheSameTwiceAndTheSeedIsSaid) {
  Problem problem = readWorkload("layers/bert24_training");
  Result<Plan> a = planLocalSearch(problem), b = planLocalSearch(problem);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->value, b->value);
  ASSERT_EQ(a->stages.size(), b->stages.size());
  for (size_t s = 0; s < a->stages.size(); ++s)
    EXPECT_EQ(a->stages[s].layers, b->stages[s].layers);
  EXPECT_EQ(a->explanation[0].substr(0, 20), "seed 1, 10 restarts:");
}

TEST(LocalSearch, KeepsMemory) {
  // Each device can hold a quarter of all weights.
  Problem problem = readWorkload("layers/bert24_inference");
  int64_t held = 0;
  for (const Resident &resident : problem.residents)
    held += resident.bytes.value;
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(held / 4);
  Result<Plan> plan = planLocalSearch(problem);
  ASSERT_TRUE(plan) << plan.error().message;
  Status status = verify(problem, *plan);
  EXPECT_TRUE(status) << status.error().message;
}

/// Loads updated through random moves equal those computed from scratch.
TEST(LocalSearch, MovesKeepLoadsExact) {
  Problem problem = readWorkload("operators/bert_l-3_training");
  Result<Network> network = Network::create(problem.cluster);
  ASSERT_TRUE(network);
  std::vector<size_t> order(problem.cluster.devices.size());
  std::iota(order.begin(), order.end(), 0);
  LoadGraph graph = makeLoadGraph(problem, *network, order);
  std::mt19937 random(3);
  LoadAssignment loads(problem, graph, order,
                       std::vector<size_t>(graph.size(), 0));
  for (int i = 0; i < 2000; ++i) {
    int node = int(random() % graph.size());
    size_t to = random() % order.size();
    if (to != loads.positionOf(node))
      loads.move(node, to);
  }
  std::vector<size_t> deviceOf(problem.layers.size());
  for (size_t node = 0; node < graph.size(); ++node)
    for (int64_t layer : graph.layers[node])
      deviceOf[layer] = loads.positionOf(int(node));
  EXPECT_NEAR(loads.maxLoad(), maxLoad(problem, deviceOf), 1e-9);
  // The order of the stages respects every edge.
  std::vector<size_t> stageOf(graph.size());
  auto stages = contiguousStages(graph, loads.all());
  for (size_t s = 0; s < stages.size(); ++s)
    for (int node : stages[s].second) {
      stageOf[node] = s;
      EXPECT_EQ(loads.positionOf(node), stages[s].first);
    }
  for (size_t node = 0; node < graph.size(); ++node)
    for (int before : graph.before[node])
      EXPECT_LE(stageOf[before], stageOf[node]);
}

} // namespace
