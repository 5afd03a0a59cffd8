//===- LevelsTest.cpp - levels of recomputation that fit ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the chosen levels with all choices for small stages: if any choice
// fits, the chosen one fits, and it takes at most as much longer than the best
// as one layer takes to recompute.
//
//===----------------------------------------------------------------------===//

#include "../Random.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Planning/Placed.h"
#include "stagewright/Planning/PlanJson.h"
#include "stagewright/Planning/Planners.h"
#include "stagewright/Scheduling/Generators.h"
#include <gtest/gtest.h>

using namespace stagewright;
using namespace stagewright::testing;

static constexpr ActionKind F = ActionKind::Forward,
                            I = ActionKind::InputGradient,
                            W = ActionKind::WeightGradient;

/// Layers with a forward of one second and a backward of two, on `devices` with
/// `memory` bytes. A layer keeps 100 bytes at level 0, 60 at level 1 (0.1 s
/// more) and 10 at level 2 (0.5 s more).
static Problem leveled(int64_t layers, int64_t devices, int64_t memory,
                       int64_t microbatches) {
  Problem problem;
  for (int64_t d = 0; d < devices; ++d)
    problem.cluster.devices.push_back({"d" + std::to_string(d), "gpu", 0,
                                       FlopRate(1), Bandwidth(1),
                                       Bytes(memory)});
  problem.cluster.name = "c";
  problem.cluster.fabric.inside = Joint{Bandwidth(1e6), Seconds(0)};
  problem.microbatches = microbatches;
  problem.orders = {ExecutionOrder::OneFOneB};
  for (int64_t l = 0; l < layers; ++l) {
    Layer layer{"l" + std::to_string(l),
                {{Seconds(1), Seconds(2), Seconds(0)}}};
    layer.levels = {{{Seconds(0.1)}, {}, {}}, {{Seconds(0.5)}, {}, {}}};
    problem.layers.push_back(layer);
    problem.values.push_back({Bytes(40), {l, F}, {{l, I, 0b001}}});
    problem.values.push_back({Bytes(50), {l, F}, {{l, I, 0b011}}});
    problem.values.push_back({Bytes(10), {l, F}, {{l, I, 0b111}}});
  }
  return problem;
}

TEST(Levels, TakesTheFewestSecondsThatFit) {
  // Three layers on one device, one microbatch in flight: 300 bytes.
  Problem problem = leveled(3, 1, 300, 4);
  problem.fixedPlan = "[0,3)x1";
  auto levelsAt = [&](int64_t memory) {
    problem.cluster.devices[0].memory = Bytes(memory);
    Result<Plan> plan = planFixed(problem);
    return plan ? plan->stages[0].levels : std::vector<int64_t>{-1};
  };
  using Levels = std::vector<int64_t>;
  EXPECT_EQ(levelsAt(300), Levels());
  EXPECT_EQ(levelsAt(299), Levels({1, 0, 0}));
  EXPECT_EQ(levelsAt(180), Levels({1, 1, 1}));
  EXPECT_EQ(levelsAt(179), Levels({2, 1, 1}));
  EXPECT_EQ(levelsAt(30), Levels({2, 2, 2}));
  EXPECT_EQ(levelsAt(29), Levels({-1}));
}

TEST(Levels, CountInTimesAndAreSaid) {
  Problem problem = leveled(3, 1, 180, 4);
  problem.fixedPlan = "[0,3)x1";
  Result<Plan> plan = planFixed(problem);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_DOUBLE_EQ(plan->time.value, 4 * (9 + 0.3));
  EXPECT_EQ(plan->stages[0].binding, Binding::Memory);
  EXPECT_EQ(plan->stages[0].memory, Bytes(180));
  // The JSON plan has the levels, and a fixed plan keeps them.
  problem.fixedPlan = planToJson(problem, *plan);
  problem.cluster.devices[0].memory = Bytes(1000);
  Result<Plan> again = planFixed(problem);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->stages[0].levels, plan->stages[0].levels);
  EXPECT_EQ(again->time, plan->time);
  // A level that a layer does not have is an error.
  size_t at = problem.fixedPlan.find("\"levels\"");
  problem.fixedPlan.replace(problem.fixedPlan.find('1', at), 1, "3");
  again = planFixed(problem);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(
      again.error().message.find(
          "has recomputation level 3 for layer 'l0', which has levels 0 to 2"),
      std::string::npos)
      << again.error().message;
}

TEST(Levels, AreThoseThatTheProblemAsksFor) {
  Problem problem = leveled(2, 2, 1000, 4);
  problem.layers[1].levels.pop_back();
  problem.level = 2;
  problem.fixedPlan = "[0,1)x1 [1,2)x1";
  Result<Plan> plan = planFixed(problem);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->stages[0].levels, std::vector<int64_t>{2});
  EXPECT_EQ(plan->stages[1].levels, std::vector<int64_t>{1});
}

/// For random stages, no choice of levels that fits is faster than the chosen
/// one by more than the recomputation of one layer.
TEST(Levels, AreCloseToTheBestChoice) {
  Draw draw(5);
  for (int round = 0; round < 200; ++round) {
    int64_t layers = draw.whole(1, 4);
    Problem problem = leveled(layers, 1, 1000, 3);
    double largest = 0;
    for (Layer &layer : problem.layers) {
      double first = 0.01 * double(draw.whole(1, 50));
      double second = first + 0.02 * double(draw.whole(25, 100));
      layer.levels = {{{Seconds(first)}, {}, {}}, {{Seconds(second)}, {}, {}}};
      largest = std::max(largest, second);
    }
    int64_t memory = draw.whole(10 * layers, 100 * layers);
    problem.cluster.devices[0].memory = Bytes(memory);
    problem.fixedPlan = "[0," + std::to_string(layers) + ")x1";
    Result<Plan> plan = planFixed(problem);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_LE(plan->stages[0].memory.value, memory);
    double best = 1e9;
    int64_t choices = 1;
    for (int64_t l = 0; l < layers; ++l)
      choices *= 3;
    for (int64_t choice = 0; choice < choices; ++choice) {
      int64_t bytes = 0, rest = choice;
      double seconds = 0;
      for (int64_t l = 0; l < layers; ++l, rest /= 3) {
        bytes += rest % 3 == 0 ? 100 : rest % 3 == 1 ? 60 : 10;
        seconds += problem.layers[l].again(rest % 3, 0).value;
      }
      if (bytes <= memory)
        best = std::min(best, seconds);
    }
    double chosen = plan->time.value / 3 - 3 * double(layers);
    EXPECT_LE(chosen, best + largest + 1e-9);
    EXPECT_GE(chosen, best - 1e-9);
  }
}

// If a level recomputes what W needs, it saves fewer bytes under a schedule
// that delays W, because the recomputed value is held from I to W.
TEST(Levels, CountWhatWaitsForTheWeightGradient) {
  Problem problem;
  for (const char *name : {"d0", "d1"})
    problem.cluster.devices.push_back(
        {name, "gpu", 0, FlopRate(1), Bandwidth(1), Bytes(1 << 20)});
  problem.cluster.name = "c";
  problem.cluster.fabric.inside = Joint{Bandwidth(1e6), Seconds(0)};
  problem.microbatches = 4;
  for (int64_t l = 0; l < 4; ++l) {
    Layer layer{"l" + std::to_string(l),
                {{Seconds(1), Seconds(1), Seconds(1)}}};
    layer.levels = {{{Seconds(0.1)}, {}, {}}};
    problem.layers.push_back(layer);
    bool isLate = l % 2 == 0;
    problem.values.push_back(
        {Bytes(isLate ? 100 : 60), {l, F}, {{l, I, 1}, {l, W, 1}}});
    if (isLate)
      problem.values.push_back({Bytes(100), {l, I}, {{l, W, 2}}});
  }
  PlacedFamily family;
  family.placement = Placement::Linear;
  family.generators = {*findGenerator("zb-h1")};
  problem.stages = 2;
  Result<Plan> kept = planPlaced(problem, family);
  ASSERT_TRUE(kept) << kept.error().message;
  // Two microbatches are held for I, and one for W. A layer of the first kind
  // saves 2 * 100 - 100 bytes, one of the second 2 * 60.
  EXPECT_EQ(kept->stages[0].memory, Bytes(2 * 160));
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(2 * 160 - 110);
  Result<Plan> plan = planPlaced(problem, family);
  ASSERT_TRUE(plan) << plan.error().message;
  for (const StagePlan &stage : plan->stages)
    EXPECT_EQ(stage.levels, (std::vector<int64_t>{0, 1}));
}

/// If stages do not fit at level 0, spp finds plans with higher levels; a stage
/// that repeats its whole forward would be slower.
TEST(Levels, ArePartOfTheSearch) {
  Problem problem = leveled(8, 4, 1000, 8);
  problem.maxReplicas = 1;
  Result<Plan> roomy = planSpp(problem);
  ASSERT_TRUE(roomy.ok()) << roomy.error().message;
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(300);
  Result<Plan> tight = planSpp(problem);
  ASSERT_TRUE(tight.ok()) << tight.error().message;
  EXPECT_GE(tight->time, roomy->time);
  bool anyLevel = false;
  for (const StagePlan &stage : tight->stages) {
    EXPECT_FALSE(stage.recompute);
    EXPECT_LE(stage.memory, Bytes(300));
    anyLevel |= !stage.levels.empty();
  }
  EXPECT_TRUE(anyLevel);
  Result<Plan> whole = [&] {
    Problem without = problem;
    for (Layer &layer : without.layers)
      layer.levels.clear();
    for (LayerValue &value : without.values)
      value.uses.front().levels = ~0u;
    return planSpp(without);
  }();
  if (whole.ok())
    EXPECT_LT(tight->time, whole->time);
  problem.recompute = false;
  EXPECT_FALSE(planSpp(problem).ok());
}
