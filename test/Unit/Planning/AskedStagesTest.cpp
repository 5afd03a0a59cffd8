//===- AskedStagesTest.cpp - stages that the user asks for ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the search under asked stages with all plans that have them, written
// as text for the planner `fixed`. Devices and links are equal, so it does not
// matter which devices a stage gets.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/AskedStages.h"
#include "RandomInstances.h"
#include "stagewright/Planning/Planners.h"
#include <functional>
#include <gtest/gtest.h>

using namespace stagewright;
using namespace stagewright::testing;

namespace {

constexpr uint64_t kSeed = 21;
constexpr size_t kDevices = 5;

Problem randomProblem(Draw &draw, int64_t layers) {
  Problem problem;
  problem.cluster = randomCluster(draw, kDevices, 4, 4);
  problem.microbatches = draw.whole(1, 12);
  problem.model.sharedNics = false;
  addRandomLayers(problem, draw, layers, 4, 8);
  return problem;
}

/// The least time of a plan with all asked stages, by trying all.
double leastTime(const Problem &problem) {
  double least = std::numeric_limits<double>::infinity();
  auto layers = int64_t(problem.layers.size());
  std::function<void(int64_t, int64_t, const std::string &)> extend =
      [&](int64_t first, int64_t devices, const std::string &text) {
        if (first == layers) {
          Problem fixed = problem;
          fixed.fixedPlan = text;
          if (Result<Plan> plan = planFixed(fixed))
            least = std::min(least, plan->time.value);
          return;
        }
        for (int64_t end = first + 1; end <= layers; ++end)
          for (int64_t width = 1; width <= devices; ++width)
            extend(end, devices - width,
                   text + "[" + std::to_string(first) + "," +
                       std::to_string(end) + ")x" + std::to_string(width) +
                       " ");
      };
  extend(0, int64_t(kDevices), "");
  return least;
}

/// Asks for up to two stages at random.
void ask(Problem &problem, Draw &draw) {
  auto layers = int64_t(problem.layers.size());
  int64_t first = draw.whole(0, 2), end = draw.whole(first + 1, layers);
  problem.askedStages = {{first, end, draw.whole(1, 2), "replicate at a"}};
  if (end < layers && draw.chance(0.5))
    problem.askedStages.push_back(
        {end, draw.whole(end + 1, layers), draw.whole(1, 2), "replicate at b"});
}

TEST(AskedStages, SearchIsAsGoodAsAllPlansThatHaveThem) {
  int tried = 0;
  for (uint64_t instance = 0; instance < 60; ++instance) {
    Draw draw(kSeed * 1000 + instance);
    Problem problem = randomProblem(draw, draw.whole(3, 5));
    ask(problem, draw);
    if (!checkAskedStages(problem))
      continue;
    Result<Plan> plan = runPlanner(*findPlanner("spp"), problem);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_TRUE(verifyAskedStages(problem, *plan));
    EXPECT_LE(plan->time.value, leastTime(problem) * 1.02)
        << "instance " << instance;
    ++tried;
  }
  EXPECT_GT(tried, 40);
}

TEST(AskedStages, WhereAllAreAskedForThePlanIsThatOfTheText) {
  for (uint64_t instance = 0; instance < 20; ++instance) {
    Draw draw(kSeed * 2000 + instance);
    Problem problem = randomProblem(draw, 4);
    problem.askedStages = {{0, 1, 2, "a"}, {1, 4, 3, "b"}};
    Result<Plan> plan = runPlanner(*findPlanner("auto"), problem);
    ASSERT_TRUE(plan) << plan.error().message;
    Problem fixed = problem;
    fixed.askedStages.clear();
    fixed.fixedPlan = "[0,1)x2 [1,4)x3";
    Result<Plan> hand = planFixed(fixed);
    ASSERT_TRUE(hand);
    EXPECT_EQ(plan->time.value, hand->time.value) << "instance " << instance;
  }
}

/// The error of asking for `stages` of four layers on five devices.
std::string errorOf(std::vector<AskedStage> stages,
                    const std::function<void(Problem &)> &change = {}) {
  Draw draw(kSeed);
  Problem problem = randomProblem(draw, 4);
  problem.microbatches = 4;
  problem.askedStages = std::move(stages);
  if (change)
    change(problem);
  Status status = problem.check();
  return status ? "" : status.error().message;
}

TEST(AskedStages, NamesWhatDoesNotFit) {
  EXPECT_EQ(
      errorOf({{0, 2, 2, "a"}, {1, 3, 1, "b"}}),
      "b asks for layers [1,3) with 1 replica; there are 4 layers, and asked "
      "stages must be in order, without overlap");
  EXPECT_EQ(
      errorOf({{1, 2, 4, "a"}}),
      "the stages of annotations, such as a, and stages for all other layers "
      "need at least 6 devices, cluster 'random' has 5; annotate fewer "
      "replicas, or name a larger cluster");
  EXPECT_EQ(errorOf({{1, 2, 2, "a"}}, [](Problem &p) { p.stages = 5; }),
            "5 stages need at least 5 layers, the graph has 4; ask for fewer "
            "stages");
  EXPECT_EQ(errorOf({{0, 2, 1, "a"}}, [](Problem &p) { p.stages = 4; }),
            "4 stages cannot be made: annotations, such as a, allow 2 to 3; "
            "leave out the number of stages");
  EXPECT_EQ(errorOf({{0, 4, 5, "a"}}, [](Problem &p) { p.samples = 1; }),
            "a asks for 5 replicas of a stage, which take whole microbatches "
            "in turn, and there are 4; ask for fewer, or for more "
            "microbatches");
}

} // namespace
