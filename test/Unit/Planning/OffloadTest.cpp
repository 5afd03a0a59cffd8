//===- OffloadTest.cpp - stashes offloaded to the host --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Placed.h"
#include "stagewright/Planning/PlanJson.h"
#include "stagewright/Planning/Planners.h"
#include "stagewright/Planning/Request.h"
#include <gtest/gtest.h>

using namespace stagewright;

static constexpr ActionKind F = ActionKind::Forward,
                            I = ActionKind::InputGradient;
static constexpr int64_t kStages = 6;

/// Six layers with a forward of one second and a backward of two that keep 100
/// bytes each, on six devices with `memory` bytes and `bandwidth` to their
/// hosts. Values between layers have 0 bytes.
static Problem problemWith(double bandwidth, int64_t memory) {
  Problem problem;
  for (int64_t d = 0; d < kStages; ++d) {
    Device device{"d" + std::to_string(d),
                  "gpu",
                  0,
                  FlopRate(1),
                  Bandwidth(1),
                  Bytes(memory)};
    if (bandwidth > 0)
      device.hostBandwidth = Bandwidth(bandwidth);
    problem.cluster.devices.push_back(device);
    problem.layers.push_back(
        {"l" + std::to_string(d), {{Seconds(1), Seconds(2), Seconds(0)}}});
    problem.values.push_back({Bytes(100), {d, F}, {{d, I}}});
    if (d + 1 == kStages)
      continue;
    problem.values.push_back({Bytes(0), {d, F}, {{d + 1, F}}});
    problem.values.push_back({Bytes(0), {d + 1, I}, {{d, I}}});
  }
  problem.cluster.name = "c";
  problem.cluster.fabric.inside = Joint{Bandwidth(1e6), Seconds(0)};
  problem.microbatches = 12;
  problem.orders = {ExecutionOrder::OneFOneB};
  problem.fixedPlan = "[0,1)x1 [1,2)x1 [2,3)x1 [3,4)x1 [4,5)x1 [5,6)x1";
  return problem;
}

static Plan planned(const Problem &problem) {
  Result<Plan> plan = planFixed(problem);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return plan.ok() ? *plan : Plan();
}

using Layers = std::vector<int64_t>;

TEST(Offload, IsWhereAStageDoesNotFit) {
  // 1F1B has 6, 5, ... microbatches in flight; with offloading 3 are on a
  // device.
  Plan roomy = planned(problemWith(1000, 600));
  Plan plan = planned(problemWith(1000, 400));
  EXPECT_EQ(plan.time, roomy.time);
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const StagePlan &stage = plan.stages[s];
    bool isShort = s < 2;
    EXPECT_EQ(stage.offload, isShort ? Layers{int64_t(s)} : Layers());
    EXPECT_EQ(stage.memory, Bytes(isShort ? 300 : 600 - 100 * int64_t(s)));
    EXPECT_EQ(stage.host, Bytes(isShort ? 600 - 100 * int64_t(s) : 0));
    EXPECT_EQ(stage.copying, Seconds(isShort ? 0.1 : 0));
    EXPECT_TRUE(roomy.stages[s].offload.empty());
  }
}

TEST(Offload, NeedsAWayToTheHost) {
  Problem problem = problemWith(0, 400);
  problem.recompute = false;
  Result<Plan> plan = planFixed(problem);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("stage 0 needs 600 B on device"),
            std::string::npos)
      << plan.error().message;
  problem.offload = OffloadChoice::All;
  plan = planFixed(problem);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(
      plan.error().message,
      "offload=all needs devices with a 'host_bandwidth', and device 'd0' "
      "of cluster 'c' has none; add it, or leave out offload=");
  problem = problemWith(1000, 400);
  problem.recompute = false;
  problem.offload = OffloadChoice::None;
  EXPECT_FALSE(planFixed(problem).ok());
}

TEST(Offload, IsTakenWhereItIsCheaperThanComputingAgain) {
  for (double bandwidth : {20.0, 40.0, 49.0, 51.0, 1000.0}) {
    Problem problem = problemWith(bandwidth, 400);
    for (size_t l = 0; l < problem.layers.size(); ++l) {
      problem.layers[l].levels = {{{Seconds(0.1)}, {}, {}}};
      problem.values[3 * l].uses[0].levels = 0b01;
      problem.values.push_back(
          {Bytes(30), {int64_t(l), F}, {{int64_t(l), I, 0b10}}});
    }
    // A backward hides 2 s of a copy; recomputing costs 0.1 s.
    bool isCheaper = 100 / bandwidth - 2 < 0.1;
    Plan plan = planned(problem);
    EXPECT_EQ(plan.stages[0].offload, isCheaper ? Layers{0} : Layers())
        << bandwidth;
    EXPECT_EQ(plan.stages[0].levels, isCheaper ? Layers() : Layers{1})
        << bandwidth;
  }
}

TEST(Offload, CountsWhatCopiesTakeLonger) {
  // One stage; copies take 3 s each way, the forward 1 s, the backward 2 s.
  Problem problem = problemWith(100.0 / 3, 550);
  problem.orders = {ExecutionOrder::GPipe};
  problem.microbatches = 8;
  problem.recompute = false;
  problem.layers.resize(1);
  problem.values.resize(1);
  problem.cluster.devices.resize(1);
  problem.fixedPlan = "[0,1)x1";
  Plan plan = planned(problem);
  EXPECT_EQ(plan.stages[0].memory, Bytes(400)); // Two slots out, two back.
  // The last forward waits for the sixth copy out, at 1 + 6 * 3. After the
  // first backward frees its slot, six copies back follow one another, then the
  // last backward.
  EXPECT_EQ(plan.time, Seconds(19 + 1 + 2 + 6 * 3 + 2));
  EXPECT_LE(plan.planBound, plan.time);
}

TEST(Offload, OfAllIsWhereItSavesBytes) {
  Problem problem = problemWith(1000, 10000);
  problem.offload = OffloadChoice::All;
  Plan plan = planned(problem);
  for (size_t s = 0; s < plan.stages.size(); ++s)
    EXPECT_EQ(plan.stages[s].offload, s < 3 ? Layers{int64_t(s)} : Layers());
  // The JSON plan has the offload, and a fixed plan keeps it.
  problem.fixedPlan = planToJson(problem, plan);
  problem.offload = OffloadChoice::Auto;
  Plan again = planned(problem);
  EXPECT_EQ(again.stages[0].offload, Layers{0});
  EXPECT_EQ(again.stages[3].offload, Layers());
  EXPECT_EQ(again.time, plan.time);
  // Refused for schedules for which the planner does not model copies.
  problem.offload = OffloadChoice::All;
  problem.fixedPlan.clear();
  Result<Plan> other = makePlan(problem, {"auto", "zb-h1", 0, ""});
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("offload=all is planned for"),
            std::string::npos)
      << other.error().message;
}

/// The memory left for a schedule is computed from each replica's slices.
TEST(Offload, OfSlicesFitsTheirDevices) {
  Problem problem = problemWith(1000, 1300);
  problem.orders = {ExecutionOrder::GPipe};
  problem.recompute = false;
  problem.samples = 4;
  problem.offload = OffloadChoice::All;
  problem.fixedPlan = "[0,3)x2 [3,6)x1";
  Plan plan = planned(problem);
  ASSERT_TRUE(finishForProgram(problem, plan));
  ASSERT_EQ(plan.stages[0].rows, Layers({2, 2}));
  EXPECT_EQ(plan.stages[0].memory, Bytes(4 * 150));
  EXPECT_EQ(plan.stages[1].memory, Bytes(4 * 300));
  Result<Network> network = Network::create(problem.cluster);
  ASSERT_TRUE(network);
  StagePlacement where;
  where.ranks = 2;
  auto fits = [&](int64_t memory) {
    for (Device &device : problem.cluster.devices)
      device.memory = Bytes(memory);
    return scheduleProblemOf(problem, *network, plan.stages, where).ok();
  };
  EXPECT_TRUE(fits(1300));
  EXPECT_FALSE(fits(800));
}

TEST(Offload, IsPartOfTheSearch) {
  Problem problem = problemWith(1000, 1000);
  problem.fixedPlan.clear();
  problem.maxReplicas = 1;
  problem.recompute = false;
  problem.stages = kStages;
  Result<Plan> roomy = planSpp(problem);
  ASSERT_TRUE(roomy.ok()) << roomy.error().message;
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(300);
  Result<Plan> tight = planSpp(problem);
  ASSERT_TRUE(tight.ok()) << tight.error().message;
  EXPECT_EQ(tight->time, roomy->time);
  EXPECT_FALSE(tight->stages[0].offload.empty());
  problem.offload = OffloadChoice::None;
  EXPECT_FALSE(planSpp(problem).ok());
}
