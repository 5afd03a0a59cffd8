//===- BaselinesTest.cpp - the simplest planners --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Baselines/Baselines.h"
#include "PrototypeRows.h"
#include "stagewright/Planning/Baselines/BlockPartition.h"
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

using namespace stagewright;
using namespace stagewright::testing;

namespace {

std::vector<double> sumsOf(const std::vector<double> &weights,
                           const std::vector<size_t> &ends) {
  std::vector<double> sums;
  for (size_t i = 0; i < ends.size(); ++i)
    sums.push_back(std::accumulate(weights.begin() + (i ? ends[i - 1] : 0),
                                   weights.begin() + ends[i], 0.0));
  return sums;
}

double spreadOf(const std::vector<double> &sums) {
  auto [least, most] = std::minmax_element(sums.begin(), sums.end());
  return *most - *least;
}

/// `weights` scaled to [0, 1] as the algorithm scales them.
std::vector<double> scaled(std::vector<double> weights) {
  auto [least, most] = std::minmax_element(weights.begin(), weights.end());
  double low = *least, range = *most - low;
  for (double &weight : weights)
    weight = range > 0 ? (weight - low) / range : 0;
  return weights;
}

} // namespace

TEST(BlockPartition, TorchgpipesOwnExamples) {
  EXPECT_EQ(blockPartition({1, 2, 3, 4, 5, 6}, 2), (std::vector<size_t>{4, 6}));
  EXPECT_EQ(blockPartition({6, 5, 4, 3, 2, 1}, 2), (std::vector<size_t>{2, 6}));
  EXPECT_EQ(blockPartition({0, 0}, 2), (std::vector<size_t>{1, 2}));
  EXPECT_EQ(blockPartition({42}, 1), (std::vector<size_t>{1}));
}

TEST(BlockPartition, BlocksAreAlike) {
  constexpr uint64_t kSeed = 5;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> weights(1 + random() % 24);
    for (double &weight : weights)
      weight = double(random() % 100);
    size_t blocks = 1 + random() % weights.size();
    std::vector<size_t> ends = blockPartition(weights, blocks);
    ASSERT_EQ(ends.size(), blocks);
    ASSERT_EQ(ends.back(), weights.size());
    for (size_t i = 0; i < blocks; ++i)
      EXPECT_GT(ends[i], i ? ends[i - 1] : 0);
    // The theorem of Barany and Grinberg; positive weights need no repair step.
    if (blocks * 2 <= weights.size()) {
      EXPECT_LE(spreadOf(sumsOf(scaled(weights), ends)), 1 + 1e-9)
          << "round " << round;
    }
  }
}

TEST(BlockPartition, NeverBelowTheOptimaOfOthers) {
  nlohmann::json rows =
      nlohmann::json::parse(sharedText("epl/partition_vectors.json"));
  ASSERT_GT(rows.size(), 20u);
  for (const nlohmann::json &row : rows) {
    std::vector<double> weights = row["weights"];
    size_t blocks = row["k"];
    std::vector<size_t> ends = blockPartition(weights, blocks);
    std::vector<double> sums = sumsOf(weights, ends);
    double most = *std::max_element(sums.begin(), sums.end());
    EXPECT_GE(most, row["optimal_minmax"]) << row.dump();
    EXPECT_LE(spreadOf(sumsOf(scaled(weights), ends)), 1 + 1e-9) << row.dump();
  }
}

TEST(Straight, FindsTheOptimaOfOthers) {
  nlohmann::json rows =
      nlohmann::json::parse(sharedText("epl/partition_vectors.json"));
  for (const nlohmann::json &row : rows) {
    std::vector<double> weights = row["weights"];
    Problem problem;
    for (double weight : weights)
      problem.layers.push_back({"l" + std::to_string(problem.layers.size()),
                                {{Seconds(weight), Seconds(), {}}}});
    ASSERT_TRUE(placeOn(problem, hostsOf({row["k"]}, 1, 1)));
    Result<Plan> plan = planStraight(problem);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->value, row["optimal_minmax"]) << row.dump();
  }
}

TEST(Baselines, TimesOfThePrototypesTable) {
  // Seconds per iteration on A, B and C by the prototype of SPP, correct to one
  // unit of the last digit.
  struct {
    const char *model;
    double dataParallel[3], straight[3];
  } table[] = {{"vgg19", {0.906, 0.906, 1.399}, {4.10, 16.0, 40.0}},
               {"gnmt16", {0.947, 0.947, 1.993}, {0.803, 0.938, 1.199}},
               {"bert48", {2.217, 2.217, 4.512}, {1.017, 1.051, 1.113}},
               {"xlnet36", {3.608, 3.608, 5.410}, {3.460, 3.525, 3.648}},
               {"amoeba36", {3.583, 3.583, 6.941}, {1.629, 2.198, 5.429}}};
  int compared = 0;
  for (const PrototypeRow &row : prototypeRows())
    for (const auto &golden : table) {
      if (row.model != golden.model || row.config == "P4")
        continue;
      size_t column = row.config[0] - 'A';
      Problem problem = prototypeProblem(row);
      EXPECT_NEAR(planDataParallel(problem)->time.value,
                  golden.dataParallel[column], 0.0006)
          << golden.model << " on " << row.config;
      double straight = golden.straight[column];
      EXPECT_NEAR(planStraight(problem)->time.value, straight,
                  straight < 4    ? 0.0006
                  : straight < 10 ? 0.006
                                  : 0.06)
          << golden.model << " on " << row.config;
      ++compared;
    }
  EXPECT_EQ(compared, 15);
}

TEST(Baselines, AllMakePlansOfUnequalDevices) {
  Problem problem = sharedProfile("chains/amoeba36.chain", "chain");
  problem.microbatches = 8;
  Cluster cluster = hostsOf({2, 1, 1}, 25e9, 3e9);
  cluster.devices[3].deviceClass = "slow";
  cluster.devices[3].speed = 0.5;
  ASSERT_TRUE(placeOn(problem, cluster));
  double bound = 0;
  for (const Layer &layer : problem.layers)
    bound += layer.times[0].total().value;
  bound *= 8 / 3.5;
  for (auto planner : {planStraight, planBlockPartition, planDataParallel,
                       planAlpa, planDapple, planPipeDream}) {
    Result<Plan> plan = planner(problem);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_TRUE(verify(problem, *plan)) << plan->planner;
    EXPECT_GE(plan->time.value, bound * (1 - 1e-9)) << plan->planner;
  }
}

TEST(Baselines, DataParallelIsOneStage) {
  Problem problem = sharedProfile("chains/vgg19.chain", "chain");
  ASSERT_TRUE(placeOn(problem, hostsOf({4}, 1e9, 1e9)));
  problem.stages = 2;
  Result<Plan> plan = planDataParallel(problem);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message,
            "planner 'data-parallel' makes one stage, got stages=2; leave "
            "out stages=, or use the planner 'spp'");
}
