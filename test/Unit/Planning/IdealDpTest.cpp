//===- IdealDpTest.cpp - stages of least maximum load ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Builds.h"
#include "Loads.h"
#include "stagewright/Planning/Baselines/Baselines.h"
#include <cmath>
#include <numeric>
#include <random>
#include <set>

using namespace stagewright;
using namespace stagewright::test;
using stagewright::testing::kPart;

namespace {

Device makeDevice(size_t number, const char *deviceClass, int64_t memory) {
  return {"d" + std::to_string(number),
          deviceClass,
          0,
          FlopRate(1),
          Bandwidth(1),
          Bytes(memory)};
}

/// A random graph of `count` layers on `devices` devices; if `unequal`, the
/// last device is of another class. Layers hold bytes in proportion to the
/// memory of a device.
Problem randomProblem(std::mt19937 &random, size_t count, size_t devices,
                      bool unequal) {
  Problem problem;
  problem.cluster.name = "random";
  for (size_t i = 0; i < devices; ++i)
    problem.cluster.devices.push_back(
        makeDevice(i, unequal && i + 1 == devices ? "other" : "one", 100));
  problem.cluster.fabric.inside = Joint{Bandwidth(1), Seconds(0)};
  for (size_t a = 0; a < count; ++a) {
    Layer layer{"l" + std::to_string(a), {}};
    for (size_t c = 0; c < problem.cluster.classes().size(); ++c)
      layer.times.push_back({Seconds(double(random() % 8)),
                             Seconds(double(random() % 8)), Seconds(0)});
    problem.layers.push_back(layer);
    problem.residents.push_back(
        {Bytes(int64_t(random() % 30)), ResidentKind::Constant, {int64_t(a)}});
    LayerValue value{Bytes(0), {int64_t(a), ActionKind::Forward}, {}, {}};
    for (size_t b = a + 1; b < count; ++b)
      if (random() % 3 == 0)
        value.uses.push_back({int64_t(b), ActionKind::Forward});
    value.transfer = Seconds(double(random() % 4));
    for (const LayerPhase &use : value.uses)
      problem.values.push_back({Bytes(0),
                                {use.layer, ActionKind::InputGradient},
                                {{int64_t(a), ActionKind::InputGradient}},
                                Seconds(double(random() % 3))});
    if (!value.uses.empty())
      problem.values.push_back(value);
  }
  return problem;
}

/// Whether no forward value goes to an earlier stage, and the layers of each
/// device fit in its memory.
bool isAllowed(const Problem &problem, const std::vector<size_t> &stageOf) {
  for (const LayerValue &value : problem.values)
    for (const LayerPhase &use : value.uses)
      if (value.producer.phase == ActionKind::Forward &&
          stageOf[value.producer.layer] > stageOf[use.layer])
        return false;
  std::vector<int64_t> bytes(problem.cluster.devices.size());
  for (const Resident &resident : problem.residents)
    bytes[stageOf[resident.layers[0]]] += resident.bytes.value;
  return *std::max_element(bytes.begin(), bytes.end()) <= 100;
}

/// The min over all assignments of layers to stages and of stages to devices of
/// the max load; infinite if none is allowed.
double exhaustive(const Problem &problem) {
  size_t devices = problem.cluster.devices.size();
  std::vector<size_t> stageOf(problem.layers.size(), 0);
  std::vector<size_t> deviceOf(devices);
  double best = std::numeric_limits<double>::infinity();
  while (true) {
    if (isAllowed(problem, stageOf)) {
      std::iota(deviceOf.begin(), deviceOf.end(), 0);
      do {
        std::vector<size_t> placed;
        for (size_t stage : stageOf)
          placed.push_back(deviceOf[stage]);
        best = std::min(best, maxLoad(problem, placed));
      } while (std::next_permutation(deviceOf.begin(), deviceOf.end()));
    }
    size_t digit = 0;
    while (digit < stageOf.size() && ++stageOf[digit] == devices)
      stageOf[digit++] = 0;
    if (digit == stageOf.size())
      return best;
  }
}

TEST(IdealDp, EqualsExhaustiveSearchOnRandomGraphs) {
  constexpr unsigned kSeed = 7;
  constexpr int kRounds = kPart == 1 ? 300 : 60;
  std::mt19937 random(kSeed);
  int infeasible = 0, linearWorse = 0;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " +
                 std::to_string(round));
    size_t devices = 2 + random() % 2;
    size_t count = devices == 2 ? 2 + random() % 8 : 2 + random() % 6;
    Problem problem = randomProblem(random, count, devices, random() % 2);
    double best = exhaustive(problem);
    Result<Plan> plan = planIdealDp(problem);
    if (std::isinf(best)) {
      ++infeasible;
      EXPECT_FALSE(plan);
      continue;
    }
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_NEAR(plan->value, best, 1e-9);
    EXPECT_NEAR(maxLoad(problem, devicesOf(problem, *plan)), best, 1e-9);
    Result<Plan> linear = planIdealDpLinear(problem);
    if (linear) {
      EXPECT_GE(linear->value, best - 1e-9);
      linearWorse += linear->value > best + 1e-9;
    }
  }
  if (kPart == 1) // Few rounds may all fit.
    EXPECT_GT(infeasible, 0);
  EXPECT_LT(infeasible, kRounds / 2);
  EXPECT_GT(linearWorse, 0);
}

/// A chain of `count` layers of one second each, on `devices` devices.
Problem chain(size_t count, size_t devices) {
  Problem problem;
  problem.cluster.name = "flat";
  for (size_t i = 0; i < devices; ++i)
    problem.cluster.devices.push_back(makeDevice(i, "one", 100));
  problem.cluster.fabric.inside = Joint{Bandwidth(10), Seconds(0)};
  for (size_t a = 0; a < count; ++a) {
    problem.layers.push_back({"l" + std::to_string(a),
                              {{Seconds(0.25), Seconds(0.75), Seconds(0)}}});
    if (a > 0)
      problem.values.push_back({Bytes(1),
                                {int64_t(a) - 1, ActionKind::Forward},
                                {{int64_t(a), ActionKind::Forward}},
                                {}});
  }
  return problem;
}

TEST(IdealDp, BytesOverABandwidthCostSeconds) {
  // Two stages of four layers, with one transfer of 1 B at 10 B/s.
  Result<Plan> plan = planIdealDp(chain(8, 2));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_DOUBLE_EQ(plan->value, 4.1);
  ASSERT_EQ(plan->stages.size(), 2u);
  EXPECT_EQ(plan->stages[1].layers, (std::vector<int64_t>{4, 5, 6, 7}));
}

TEST(IdealDp, AsManyStagesAsAskedFor) {
  Problem problem = chain(8, 4);
  problem.stages = 3;
  Result<Plan> plan = planIdealDp(problem);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->stages.size(), 3u);
  EXPECT_DOUBLE_EQ(plan->value, 3.1);
}

TEST(IdealDp, BranchesLieSideBySide) {
  // Two independent chains: each is a stage, and nothing is transferred.
  Problem problem = chain(6, 2);
  problem.values.clear();
  for (auto [a, b] : {std::pair(0, 1), {1, 2}, {3, 4}, {4, 5}})
    problem.values.push_back(
        {Bytes(1), {a, ActionKind::Forward}, {{b, ActionKind::Forward}}, {}});
  Result<Plan> plan = planIdealDp(problem);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_DOUBLE_EQ(plan->value, 3);
  ASSERT_EQ(plan->stages.size(), 2u);
  std::set<std::vector<int64_t>> stages = {plan->stages[0].layers,
                                           plan->stages[1].layers};
  EXPECT_EQ(stages, (std::set<std::vector<int64_t>>{{0, 1, 2}, {3, 4, 5}}));
}

TEST(IdealDp, UnequalLinksFollowTheOrderOfDevices) {
  // Links d0 - d2 and d1 - d3 are fast: only one slow boundary is needed.
  Problem problem = chain(8, 4);
  problem.cluster.fabric = {};
  for (size_t a = 0; a < 4; ++a)
    for (size_t b = a + 1; b < 4; ++b)
      problem.cluster.links.push_back(
          {a, b, Bandwidth(a + 2 == b ? 100 : 2), Seconds(0)});
  Result<Plan> plan = planIdealDp(problem);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->stages.size(), 4u);
  std::vector<size_t> devices;
  for (const StagePlan &stage : plan->stages)
    devices.push_back(stage.devices.front());
  EXPECT_EQ(devices[0] % 2, devices[1] % 2);
  EXPECT_EQ(devices[2] % 2, devices[3] % 2);
}

TEST(IdealDp, TheSameTwice) {
  Problem problem = readWorkload("operators/bert_l-3_training");
  Result<Plan> a = planIdealDp(problem), b = planIdealDp(problem);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->value, b->value);
  EXPECT_EQ(a->time, b->time);
  ASSERT_EQ(a->stages.size(), b->stages.size());
  for (size_t s = 0; s < a->stages.size(); ++s) {
    EXPECT_EQ(a->stages[s].layers, b->stages[s].layers);
    EXPECT_EQ(a->stages[s].devices, b->stages[s].devices);
  }
}

TEST(IdealDp, SaysWhatDoesNotFit) {
  Problem problem = chain(4, 2);
  for (int64_t layer = 0; layer < 4; ++layer)
    problem.residents.push_back({Bytes(60), ResidentKind::Constant, {layer}});
  Result<Plan> plan = planIdealDp(problem);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message,
            "no split into at most 2 contiguous stages fits in memory; the "
            "layers hold 240 B all the time, the devices have 200 B together; "
            "use more or larger devices");
  problem.residents[2].bytes = Bytes(160);
  plan = planIdealDp(problem);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message,
            "layer 'l2' alone needs 161 B, the largest device has 100 B; use a "
            "device with 61 B more");
}

TEST(IdealDp, TooManyBranchesAreAnError) {
  Problem problem = chain(24, 2);
  problem.values.clear();
  Result<Plan> plan = planIdealDp(problem);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message,
            "the graph has more than 200000 ideals; use "
            "planner=ideal-dp-linear, which cuts one order of the layers");
  plan = planIdealDpLinear(problem);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_DOUBLE_EQ(plan->value, 12);
}

} // namespace
