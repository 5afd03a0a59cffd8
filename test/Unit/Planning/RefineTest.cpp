//===- RefineTest.cpp - local moves on top of any plan --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Builds.h"
#include "RandomInstances.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Planning/Planners.h"
#include <gtest/gtest.h>

using namespace stagewright;
using namespace stagewright::testing;

namespace {

/// A chain on 2 to 5 devices, some with little memory.
Problem randomProblem(Draw &draw) {
  Problem problem;
  problem.cluster = randomCluster(draw, draw.whole(2, 5), 0.5, 8);
  problem.microbatches = draw.whole(1, 12);
  problem.model.overlapAllReduce = draw.chance(0.5);
  addRandomLayers(problem, draw, draw.whole(2, 8), 4, 4);
  if (draw.chance(0.4))
    for (Device &device : problem.cluster.devices)
      device.memory = Bytes(int64_t(draw.real(4, 40) * kUnit));
  if (draw.chance(0.2))
    problem.maxReplicas = draw.whole(1, 2);
  if (draw.chance(0.2))
    problem.stages = draw.whole(
        1, std::min(problem.layers.size(), problem.cluster.devices.size()));
  return problem;
}

/// A plan with random cuts and devices.
Plan randomPlan(Draw &draw, const Problem &problem) {
  int64_t layers = int64_t(problem.layers.size()),
          devices = int64_t(problem.cluster.devices.size());
  int64_t stages = problem.stages > 0
                       ? problem.stages
                       : draw.whole(1, std::min(layers, devices));
  Plan plan;
  for (int64_t s = 0; s < stages; ++s)
    plan.stages.push_back(
        stageOf(s * layers / stages, (s + 1) * layers / stages, {size_t(s)}));
  for (int64_t d = stages; d < devices; ++d)
    if (StagePlan &stage = plan.stages[size_t(draw.whole(0, stages - 1))];
        problem.maxReplicas == 0 ||
        int64_t(stage.devices.size()) < problem.maxReplicas)
      stage.devices.push_back(size_t(d));
  return plan;
}

TEST(Refine, NeverSlowerThanTheStart) {
  constexpr uint64_t kSeed = 4;
  constexpr int kPlans = 400 / kPart;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Draw draw(kSeed);
  int started = 0, faster = 0;
  double ratios = 0;
  for (int i = 0; i < kPlans; ++i) {
    Problem problem = randomProblem(draw);
    Plan start = randomPlan(draw, problem);
    Result<Network> network = Network::create(problem.cluster);
    ASSERT_TRUE(network);
    if (!evaluate(problem, *network, start))
      continue; // Does not fit in memory.
    ++started;
    Result<Plan> refined = refine(problem, *network, start);
    ASSERT_TRUE(refined) << refined.error().message;
    EXPECT_LE(refined->time, start.time);
    EXPECT_TRUE(verify(problem, *refined));
    EXPECT_GE(refined->time.value, refined->planBound.value * (1 - 1e-9));
    EXPECT_GE(refined->time.value, workLowerBound(problem).value * (1 - 1e-9));
    if (isOfFamily(*refined))
      EXPECT_GE(refined->time.value,
                familyLowerBound(problem, *network).value * (1 - 1e-9));
    // The reported time equals that of the plan.
    Plan again = *refined;
    ASSERT_TRUE(evaluate(problem, *network, again));
    EXPECT_EQ(again.time, refined->time);
    faster += refined->time < start.time;
    ratios += refined->time.value / start.time.value;
  }
  EXPECT_GT(started, kPlans * 5 / 8);
  EXPECT_GT(faster, started / 2);
  RecordProperty("mean", std::to_string(ratios / started));
}

TEST(Refine, SameInputSamePlan) {
  Draw draw(5);
  Problem problem = randomProblem(draw);
  problem.stages = problem.maxReplicas = 0;
  Result<Plan> first = planRefine(problem), second = planRefine(problem);
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(second);
  EXPECT_EQ(first->explanation, second->explanation);
  EXPECT_EQ(first->time, second->time);
}

TEST(Refine, NoWorkNoMoves) {
  Problem problem;
  Draw draw(6);
  problem.cluster = randomCluster(draw, 2, 8, 8);
  problem.microbatches = 8;
  for (int i = 0; i < 4; ++i)
    addLayer(problem, 1, 2, 0.1, 0);
  Result<Network> network = Network::create(problem.cluster);
  Plan start;
  start.planner = "test";
  start.stages = {stageOf(0, 3, {0}), stageOf(3, 4, {1})};
  Result<Plan> lazy = refine(problem, *network, start, {.work = 0});
  ASSERT_TRUE(lazy) << lazy.error().message;
  EXPECT_EQ(lazy->stages[0].layers.size(), 3u);
  Result<Plan> refined = refine(problem, *network, start);
  ASSERT_TRUE(refined) << refined.error().message;
  EXPECT_LT(refined->time, lazy->time);
  ASSERT_GE(refined->explanation.size(), 2u);
  EXPECT_NE(refined->explanation[0].find("plans simulated"), std::string::npos);
}

TEST(Refine, StageThatStopsRecomputing) {
  Problem problem;
  Draw draw(7);
  problem.cluster = randomCluster(draw, 2, 8, 8);
  problem.microbatches = 4;
  for (int i = 0; i < 4; ++i)
    addLayer(problem, 1, 2, 1, 0);
  Result<Network> network = Network::create(problem.cluster);
  Plan start;
  start.stages = {stageOf(0, 2, {0}), stageOf(2, 4, {1})};
  start.stages[0].recompute = true;
  Result<Plan> refined = refine(problem, *network, start);
  ASSERT_TRUE(refined) << refined.error().message;
  for (const StagePlan &stage : refined->stages)
    EXPECT_FALSE(stage.recompute);
}

TEST(Refine, PlansWithAlternativesAreRefused) {
  Problem problem;
  Draw draw(8);
  problem.cluster = randomCluster(draw, 2, 8, 8);
  addLayer(problem, 1, 2, 1, 0);
  Plan start;
  start.planner = "piper";
  start.stages = {stageOf(0, 1, {0, 1})};
  start.stages[0].ways = 2;
  Result<Network> network = Network::create(problem.cluster);
  Result<Plan> refined = refine(problem, *network, start);
  ASSERT_FALSE(refined);
  EXPECT_EQ(refined.error().message,
            "plan of 'piper' chooses among alternatives of its layers, which "
            "refine does not; start from another planner");
}

TEST(Refine, OtherStartsByName) {
  for (const char *name : {"refine", "refine:spp", "refine:balance"}) {
    Result<Planner> planner = findPlanner(name);
    ASSERT_TRUE(planner) << planner.error().message;
    Problem problem;
    Draw draw(9);
    problem.cluster = randomCluster(draw, 2, 8, 8);
    problem.microbatches = 4;
    problem.orders = {ExecutionOrder::OneFOneB, ExecutionOrder::GPipe};
    for (int i = 0; i < 4; ++i)
      addLayer(problem, 1, 2, 0.1, 0);
    Result<Plan> plan = planner->plan(problem);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->planner, "refine");
  }
  EXPECT_FALSE(findPlanner("refine:nothing"));
}

} // namespace
