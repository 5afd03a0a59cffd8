//===- PiperTest.cpp - values of the published program --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Golden values: piper_bert32_tps_seconds in planners.json. The program of
// msr-fiddle/piper printed them with six decimals for bert32a100.json at 25
// GiB/s; -1 means that no plan fits.
//
//===----------------------------------------------------------------------===//

#include "../Builds.h"
#include "PlanningData.h"
#include "stagewright/Planning/Baselines/Baselines.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Planning/PlanJson.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace stagewright;
using nlohmann::json;

namespace {

/// Half a unit of the last printed decimal.
constexpr double kPrinted = 0.5e-6 + 1e-12;

json goldenRows() {
  return json::parse(
      sharedText("golden/planners.json"))["piper_bert32_tps_seconds"];
}

/// BERT-32 with the memory, batch and devices of `row`.
Problem bertFor(const json &row) {
  json instance = json::parse(sharedText("piper/bert32a100.json"));
  instance["maxMemoryPerDevice"] = row["mem"].get<double>() * double(1 << 30);
  instance["maxDevices"] = int64_t(row["k"].get<double>());
  instance["mbsInBatch"] = int64_t(row["N"].get<double>());
  instance["bandwidth"] = 25.0 * double(1 << 30);
  Result<Problem> problem = readPiper(instance.dump(), "bert32a100.json");
  EXPECT_TRUE(problem) << problem.error().message;
  return *problem;
}

Problem withoutTensorParallelism(Problem problem) {
  for (Layer &layer : problem.layers)
    std::erase_if(layer.alternatives,
                  [](const Alternative &way) { return way.ways > 1; });
  return problem;
}

void expectGolden(const Problem &problem, const json &row, const char *column) {
  SCOPED_TRACE(std::string(column) + " of " + row.dump());
  double golden = row[column].get<double>();
  Result<Plan> plan = planPiper(problem);
  if (golden < 0) {
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().message.find("fits in memory"), std::string::npos);
    EXPECT_NE(plan.error().message.find("has 2.0 GiB"), std::string::npos);
    return;
  }
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->objective, "time-per-sample");
  EXPECT_NEAR(plan->value, golden, kPrinted);
  // The plan's value, computed independently, equals the search's.
  Result<Network> network = Network::create(problem.cluster);
  Result<double> value = timePerSample(problem, *network, *plan);
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_NEAR(*value, plan->value, 1e-12);
  // A step takes at least the compute time of each stage for all samples.
  for (const StagePlan &stage : plan->stages) {
    double seconds = 0;
    for (size_t i = 0; i < stage.layers.size(); ++i)
      seconds += problem.layers[stage.layers[i]]
                     .alternatives[stage.alternatives[i]]
                     .time.value;
    double replicas = double(stage.devices.size()) / double(stage.ways);
    EXPECT_GE(plan->time.value,
              seconds * double(problem.microbatches) / replicas * (1 - 1e-9));
    EXPECT_LE(stage.memory, problem.cluster.devices[0].memory);
  }
}

TEST(Piper, ValuesOfThePublishedProgram) {
  STAGEWRIGHT_SKIP_IN_SLOW_BUILDS();
  for (const json &row : goldenRows())
    expectGolden(bertFor(row), row, "piper");
}

TEST(Piper, ValuesWithoutReplicas) {
  STAGEWRIGHT_SKIP_IN_SLOW_BUILDS();
  for (const json &row : goldenRows()) {
    Problem problem = bertFor(row);
    problem.maxReplicas = 1;
    expectGolden(problem, row, "noDP");
  }
}

TEST(Piper, ValuesWithoutTensorParallelism) {
  STAGEWRIGHT_SKIP_IN_SLOW_BUILDS();
  for (const json &row : goldenRows())
    expectGolden(withoutTensorParallelism(bertFor(row)), row, "noTP");
}

TEST(Piper, ValuesWithoutRecomputation) {
  STAGEWRIGHT_SKIP_IN_SLOW_BUILDS();
  for (const json &row : goldenRows()) {
    Problem problem = bertFor(row);
    problem.recompute = false;
    expectGolden(problem, row, "noAR");
  }
}

/// Indices of the alternatives of `layers` for `ways`, all with or all without
/// recomputation.
std::vector<size_t> alternativesOf(const Problem &problem,
                                   const std::vector<int64_t> &layers,
                                   int64_t ways, bool recompute) {
  std::vector<size_t> numbers;
  for (int64_t layer : layers) {
    const std::vector<Alternative> &all = problem.layers[layer].alternatives;
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].ways == ways && all[i].recompute == recompute)
        numbers.push_back(i);
  }
  return numbers;
}

/// Equal stages as in PipeDream-2BW: the same number of transformers each;
/// layers before and after these are in the end stages, or apart in their own.
std::vector<std::vector<int64_t>> equalStages(const Problem &problem,
                                              int64_t stages, bool apart) {
  std::vector<int64_t> before, transformers, after;
  for (int64_t l = 0; l < int64_t(problem.layers.size()); ++l) {
    bool isOne =
        problem.layers[l].name.find("Transformer") != std::string::npos;
    (isOne ? transformers : transformers.empty() ? before : after).push_back(l);
  }
  int64_t inner = stages - 2 * apart, count = int64_t(transformers.size());
  std::vector<std::vector<int64_t>> result(stages);
  int64_t next = 0;
  for (int64_t s = 0; s < inner; ++s)
    for (int64_t i = 0; i < count / inner + (s >= inner - count % inner); ++i)
      result[s + apart].push_back(transformers[next++]);
  result.front().insert(result.front().end(), before.begin(), before.end());
  result.back().insert(result.back().end(), after.begin(), after.end());
  for (std::vector<int64_t> &layers : result)
    std::sort(layers.begin(), layers.end());
  return result;
}

/// The min time per sample over equal stages, replicas and ways.
double bestEqualPlan(const Problem &problem, bool tensorParallel) {
  Result<Network> network = Network::create(problem.cluster);
  int64_t devices = int64_t(problem.cluster.devices.size());
  double best = -1;
  for (bool apart : {false, true})
    for (int64_t stages = 1 + 2 * apart;
         stages <= devices && stages <= 32 + 2 * apart; ++stages)
      for (int64_t d = 1; stages * d <= devices; ++d)
        for (int64_t ways : {1, 2, 4, 8}) {
          if (problem.microbatches % d != 0 || stages * d * ways > devices ||
              (ways > 1 && !tensorParallel))
            continue;
          for (bool recompute : {false, true}) {
            Plan plan;
            size_t next = 0;
            for (auto &layers : equalStages(problem, stages, apart)) {
              StagePlan stage;
              stage.layers = layers;
              stage.ways = ways;
              for (int64_t i = 0; i < d * ways; ++i)
                stage.devices.push_back(next++);
              stage.alternatives =
                  alternativesOf(problem, layers, ways, recompute);
              plan.stages.push_back(std::move(stage));
            }
            Result<double> value = timePerSample(problem, *network, plan);
            if (value && (best < 0 || *value < best))
              best = *value;
          }
        }
  return best;
}

TEST(Piper, ValuesOfEqualStages) {
  for (const json &row : goldenRows()) {
    if (row["k"].get<double>() > 8 && row["N"].get<double>() > 512)
      continue; // Slow, and similar to smaller rows.
    SCOPED_TRACE(row.dump());
    Problem problem = bertFor(row);
    EXPECT_NEAR(bestEqualPlan(problem, false), row["equiNoTP"].get<double>(),
                kPrinted);
    EXPECT_NEAR(bestEqualPlan(problem, true), row["equi"].get<double>(),
                kPrinted);
  }
}

TEST(Piper, StagesAsAskedFor) {
  json row = {{"mem", 8.0}, {"N", 512.0}, {"k", 8.0}};
  Problem problem = bertFor(row);
  Result<Plan> free = planPiper(problem);
  ASSERT_TRUE(free) << free.error().message;
  for (int64_t stages : {5, 6, 8}) {
    problem.stages = stages;
    Result<Plan> plan = planPiper(problem);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(int64_t(plan->stages.size()), stages);
    EXPECT_GE(plan->value, free->value - 1e-12);
  }
}

TEST(Piper, PlanGoesThroughJson) {
  Problem problem = bertFor({{"mem", 8.0}, {"N", 512.0}, {"k", 16.0}});
  Result<Plan> plan = planPiper(problem);
  ASSERT_TRUE(plan) << plan.error().message;
  problem.fixedPlan = planToJson(problem, *plan);
  Result<Plan> again = planFixed(problem);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->time, plan->time);
  for (size_t s = 0; s < plan->stages.size(); ++s) {
    EXPECT_EQ(again->stages[s].alternatives, plan->stages[s].alternatives);
    EXPECT_EQ(again->stages[s].memory, plan->stages[s].memory);
  }
  json wrong = json::parse(problem.fixedPlan);
  wrong["stages"][0]["alternatives"][0] = "other";
  problem.fixedPlan = wrong.dump();
  EXPECT_EQ(
      planFixed(problem).error().message,
      "the plan: stage 0 has alternative \"other\" for layer 'node0 tensor', "
      "which has none of that name for 1 devices");
}

TEST(Piper, CertificateOfAlternatives) {
  Problem problem = bertFor({{"mem", 2.0}, {"N", 512.0}, {"k", 64.0}});
  Result<Plan> plan = runPlanner(*findPlanner("piper"), problem);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_GT(plan->familyBound.value, 0);
  EXPECT_LE(plan->familyBound, plan->time);
  EXPECT_LE(plan->planBound.value, plan->time.value * (1 + 1e-9));
}

TEST(Piper, LayersWithoutAlternatives) {
  // Four layers of 1 + 2 s on four devices: 12 / 4 s per sample.
  Problem problem;
  Result<Cluster> cluster = localCluster(4);
  problem.cluster = *cluster;
  for (int i = 0; i < 4; ++i)
    problem.layers.push_back(
        {"l" + std::to_string(i), {{Seconds(1), Seconds(2), Seconds(0)}}});
  problem.microbatches = 8;
  Result<Plan> plan = planPiper(problem);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_NEAR(plan->value, 3, 1e-9);
  EXPECT_TRUE(plan->stages.front().alternatives.empty());
}

} // namespace
