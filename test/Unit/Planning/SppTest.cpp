//===- SppTest.cpp - the default planner ----------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomInstances.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Planning/Planners.h"
#include <gtest/gtest.h>

using namespace stagewright;
using namespace stagewright::testing;

static std::string shapeOf(const Plan &plan) {
  std::string text;
  for (const StagePlan &stage : plan.stages)
    text += "[" + std::to_string(stage.layers.front()) + "," +
            std::to_string(stage.layers.back() + 1) + ")x" +
            std::to_string(stage.devices.size()) +
            (stage.recompute ? "r " : " ");
  return text;
}

TEST(Spp, ExampleE3PrefersThePipelineToDataParallel) {
  Result<Plan> plan = runPlanner(*findPlanner("spp"),
                                 example({4, 2, 2}, 2, {3, 6, 6}, 3, 2, 4));
  ASSERT_TRUE(plan.ok());
  EXPECT_DOUBLE_EQ(plan->time.value, 40.5);
  EXPECT_EQ(shapeOf(*plan), "[0,2)x2 [2,3)x1 ");
  EXPECT_EQ(plan->order, ExecutionOrder::Window);
  EXPECT_LE(plan->familyBound.value, plan->planBound.value);
  EXPECT_LE(plan->planBound.value, plan->time.value);
  ASSERT_FALSE(plan->explanation.empty());
}

TEST(Spp, ExampleE4NeedsNoPipeline) {
  Result<Plan> plan = planSpp(example({1, 1, 1, 1}, 3, {0, 0, 0, 0}, 4, 1, 6));
  ASSERT_TRUE(plan.ok());
  EXPECT_DOUBLE_EQ(plan->time.value, 18);
  EXPECT_EQ(shapeOf(*plan), "[0,4)x4 ");
}

TEST(Spp, KeepsToStagesAndReplicasAskedFor) {
  for (int64_t stages = 1; stages <= 4; ++stages) {
    Problem problem = example({4, 2, 2, 1}, 2, {3, 6, 6, 1}, 4, 2, 4);
    problem.stages = stages;
    Result<Plan> plan = planSpp(problem);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(int64_t(plan->stages.size()), stages);
  }
  Problem problem = example({4, 2, 2, 1}, 2, {3, 6, 6, 1}, 4, 2, 4);
  problem.maxReplicas = 1;
  Result<Plan> plan = planSpp(problem);
  ASSERT_TRUE(plan.ok());
  for (const StagePlan &stage : plan->stages)
    EXPECT_EQ(stage.devices.size(), 1u);
}

TEST(Spp, EqualPlansGoByTheirNumbers) {
  // Transfers are free: every split in two takes 3 s a microbatch on the
  // slowest stage; of equal plans the one with the fewest stages is chosen.
  Problem problem = example({1, 1}, 0, {0, 0}, 2, 1, 1);
  Result<Plan> plan = planSpp(problem);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(shapeOf(*plan), "[0,2)x2 ");
  EXPECT_EQ(plan->stages[0].devices, (std::vector<size_t>{0, 1}));
}

/// Gives every device `units` of memory.
static void setMemory(Problem &problem, double units) {
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(int64_t(units * kUnit));
}

TEST(Spp, RecomputesWhereMemoryIsShort) {
  Problem problem = example(std::vector<double>(8, 1), 1,
                            std::vector<double>(8, 0), 2, 100, 8);
  problem.stages = 2;
  Result<Plan> rich = planSpp(problem);
  ASSERT_TRUE(rich.ok());
  EXPECT_EQ(shapeOf(*rich).find('r'), std::string::npos);
  // The first stage keeps the three values between its four layers for each of
  // at least two microbatches in flight.
  setMemory(problem, 5.5);
  Result<Plan> poor = planSpp(problem);
  ASSERT_TRUE(poor.ok()) << poor.error().message;
  EXPECT_TRUE(poor->stages[0].recompute);
  EXPECT_GT(poor->time, rich->time);
  EXPECT_TRUE(verify(problem, *poor).ok());
  for (const StagePlan &stage : poor->stages)
    EXPECT_LE(stage.memory.value, int64_t(5.5 * kUnit));
  problem.recompute = false;
  EXPECT_FALSE(planSpp(problem).ok());
}

TEST(Spp, SaysByHowMuchMemoryIsShort) {
  Problem problem = example({1, 1, 1}, 1, {10, 20, 10}, 2, 1, 4);
  setMemory(problem, 15);
  Result<Plan> plan = planSpp(problem);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("needs"), std::string::npos)
      << plan.error().message;
  EXPECT_NE(plan.error().message.find("has 14.3 MiB"), std::string::npos)
      << plan.error().message;
  ASSERT_EQ(plan.error().notes.size(), 1u);
  Result<Plan> brief = planSppBriefly(problem), any = planAuto(problem);
  ASSERT_FALSE(brief || any);
  EXPECT_EQ(brief.error().message, "no plan fits in memory");
  EXPECT_EQ(any.error().message, plan.error().message);
  // 30 for gradients, two slots for received values, one for the value between.
  setMemory(problem, 32.99);
  EXPECT_FALSE(planSpp(problem).ok());
  setMemory(problem, 33);
  EXPECT_TRUE(planSpp(problem).ok());
}

TEST(Spp, SlowDeviceGetsLessWork) {
  Problem problem = example(std::vector<double>(12, 1), 0.001,
                            std::vector<double>(12, 0), 2, 100, 64);
  problem.cluster.devices[0].deviceClass = "slow";
  problem.maxReplicas = 1;
  for (Layer &layer : problem.layers)
    layer.times = {{Seconds(2), Seconds(4), Seconds(0)},
                   {Seconds(1), Seconds(2), Seconds(0)}};
  Result<Plan> plan = runPlanner(*findPlanner("spp"), problem);
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->stages.size(), 2u);
  for (const StagePlan &stage : plan->stages)
    EXPECT_EQ(stage.layers.size(), stage.devices[0] == 0 ? 4u : 8u);
  // Together they are as fast as 1.5 fast devices, which the bound assumes.
  EXPECT_LT(plan->time.value / plan->familyBound.value, 1.05);
}

TEST(Spp, SameInputSamePlan) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Draw draw(seed);
    Problem problem;
    problem.cluster = randomCluster(draw, 6, 0.5, 8);
    problem.microbatches = 12;
    addRandomLayers(problem, draw, 8, 4, 8);
    Result<Plan> first = planSpp(problem), second = planSpp(problem);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(shapeOf(*first), shapeOf(*second));
    EXPECT_EQ(first->explanation, second->explanation);
    EXPECT_EQ(first->time, second->time);
  }
}

TEST(Spp, ForwardOnly) {
  Problem problem = example({1, 1, 1, 1}, 1, {0, 0, 0, 0}, 4, 100, 16);
  problem.forwardOnly = true;
  problem.maxReplicas = 1;
  Result<Plan> plan = runPlanner(*findPlanner("spp"), problem);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_NEAR(plan->time.value, 16 + 3 + 3 * 0.01, 1e-9);
  EXPECT_LE(plan->familyBound.value, plan->time.value);
}
