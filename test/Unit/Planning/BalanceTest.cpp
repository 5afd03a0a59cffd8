//===- BalanceTest.cpp - min-max cut of a chain ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Planners.h"
#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace stagewright;

static constexpr ActionKind F = ActionKind::Forward;
static constexpr ActionKind I = ActionKind::InputGradient;

/// A chain: layer l takes loads[l] seconds for F and the same for I, and sends
/// bytes[l] forward to layer l + 1, which sends as many back.
static Problem chain(const std::vector<double> &loads,
                     const std::vector<int64_t> &bytes, int64_t stages,
                     int64_t microbatches) {
  Problem problem;
  problem.cluster = *localCluster(stages);
  for (Link &link : problem.cluster.links)
    link = {link.from, link.to, Bandwidth(1), Seconds(0)};
  problem.stages = stages;
  problem.microbatches = microbatches;
  problem.orders = {ExecutionOrder::OneFOneB};
  int64_t layers = loads.size();
  for (int64_t l = 0; l < layers; ++l) {
    problem.layers.push_back({"l" + std::to_string(l),
                              {{Seconds(loads[l]), Seconds(loads[l]), {}}}});
    if (l + 1 == layers)
      break;
    problem.values.push_back({Bytes(bytes[l]), {l, F}, {{l + 1, F}}});
    problem.values.push_back({Bytes(bytes[l]), {l + 1, I}, {{l, I}}});
  }
  return problem;
}

/// The end layers of the stages, for comparison.
static std::vector<int64_t> endsOf(const Plan &plan) {
  std::vector<int64_t> ends;
  for (const StagePlan &stage : plan.stages)
    ends.push_back(stage.layers.back() + 1);
  return ends;
}

TEST(Balance, EvenChainIsCutEvenly) {
  Problem problem =
      chain(std::vector<double>(8, 1), std::vector<int64_t>(7, 0), 4, 8);
  Plan plan = *planBalance(problem);
  EXPECT_EQ(endsOf(plan), (std::vector<int64_t>{2, 4, 6, 8}));
  // Equal stages take M T + (p - 1) T, and no plan is faster.
  EXPECT_DOUBLE_EQ(plan.time.value, 11 * 4.0);
  EXPECT_DOUBLE_EQ(plan.planBound.value, plan.time.value);
}

TEST(Balance, HeavyTransferMovesTheCut) {
  Problem problem = chain({1, 1, 1, 1}, {0, 100, 0}, 2, 4);
  EXPECT_EQ(endsOf(*planBalance(problem)), (std::vector<int64_t>{1, 4}));
  problem.values[2].bytes = problem.values[3].bytes = Bytes(0);
  EXPECT_EQ(endsOf(*planBalance(problem)), (std::vector<int64_t>{2, 4}));
}

// A skip connection from layer 0 to layer 3 adds to every cut that it crosses.
TEST(Balance, SkipConnectionLoadsEveryCutItCrosses) {
  Problem problem = chain({1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0}, 2, 4);
  EXPECT_EQ(endsOf(*planBalance(problem)), (std::vector<int64_t>{3, 6}));
  problem.values.push_back({Bytes(50), {0, F}, {{3, F}}});
  EXPECT_EQ(endsOf(*planBalance(problem)), (std::vector<int64_t>{4, 6}));
}

TEST(Balance, TiesAreCutEvenly) {
  // The middle layer alone takes 4 (F + I), so other cuts cannot lower the max.
  Problem problem = chain({1, 1, 2, 1, 1}, {0, 0, 0, 0}, 3, 4);
  EXPECT_EQ(endsOf(*planBalance(problem)), (std::vector<int64_t>{2, 3, 5}));
}

TEST(Balance, FastDeviceGetsMoreLayers) {
  Problem problem =
      chain(std::vector<double>(6, 1), std::vector<int64_t>(5, 0), 2, 4);
  problem.cluster.devices[1].deviceClass = "slow";
  for (Layer &layer : problem.layers)
    layer.times.push_back({Seconds(2), Seconds(2), {}});
  EXPECT_EQ(endsOf(*planBalance(problem)), (std::vector<int64_t>{4, 6}));
}

// 1F1B has S - s stashes on stage s, GPipe one per microbatch.
TEST(Balance, MemoryCountsWhatTheScheduleKeepsInFlight) {
  Problem problem = chain({1, 1}, {0}, 2, 8);
  problem.values.push_back({Bytes(100), {0, F}, {{0, I}}});
  problem.values.push_back({Bytes(100), {1, F}, {{1, I}}});
  problem.residents.push_back({Bytes(7), ResidentKind::Parameter, {0}});
  problem.residents.push_back({Bytes(5), ResidentKind::PerMicrobatch, {0}});
  Plan plan = *planBalance(problem);
  EXPECT_EQ(plan.stages[0].memory, Bytes(2 * 100 + 7 + 8 * 5));
  EXPECT_EQ(plan.stages[1].memory, Bytes(100));
  problem.orders = {ExecutionOrder::GPipe};
  EXPECT_EQ(planBalance(problem)->stages[1].memory, Bytes(800));
}

// A tied parameter counts once on each stage that uses it.
TEST(Balance, SharedParameterCountsOnEveryStage) {
  Problem problem = chain({1, 1, 1}, {0, 0}, 3, 4);
  problem.residents.push_back({Bytes(10), ResidentKind::Parameter, {0, 2}});
  Plan plan = *planBalance(problem);
  EXPECT_EQ(plan.stages[0].memory, Bytes(10));
  EXPECT_EQ(plan.stages[1].memory, Bytes(0));
  EXPECT_EQ(plan.stages[2].memory, Bytes(10));
}

TEST(Balance, ReceivedActivationsAreHeldToo) {
  Problem problem = chain({1, 1}, {0}, 2, 8);
  // Used by the forward and the backward of layer 1: one in use, one arriving.
  problem.values.push_back({Bytes(100), {0, F}, {{1, F}, {1, I}}});
  // Used only when it arrives: two slots.
  problem.values.push_back({Bytes(3), {0, F}, {{1, F}}});
  EXPECT_EQ(planBalance(problem)->stages[1].memory, Bytes(2 * 100 + 2 * 3));
}

TEST(Balance, MemoryMovesTheCut) {
  Problem problem = chain({1, 1, 1, 1}, {0, 0, 0}, 2, 4);
  for (int64_t layer : {0, 1})
    problem.residents.push_back(
        {Bytes(int64_t(10) << 30), ResidentKind::Parameter, {layer}});
  EXPECT_EQ(endsOf(*planBalance(problem)), (std::vector<int64_t>{1, 4}));
}

TEST(Balance, TooLittleMemorySaysByHowMuch) {
  Problem problem = chain({1, 1}, {0}, 2, 4);
  problem.residents.push_back(
      {Bytes(44238634189), ResidentKind::Parameter, {1}});
  problem.cluster.devices[1].memory = Bytes(int64_t(40) << 30);
  EXPECT_EQ(planBalance(problem).error().message,
            "no cut into 2 stages fits in memory; the best one needs 41.2 GiB "
            "on device d1, has 40.0 GiB; use more stages, fewer microbatches "
            "or a device with 1.2 GiB more");
}

TEST(Balance, ForwardOnlyHoldsNoStash) {
  Problem problem = chain({1, 1}, {0}, 2, 8);
  problem.forwardOnly = true;
  problem.values.clear();
  for (Layer &layer : problem.layers)
    layer.times[0].inputGradient = Seconds();
  problem.values.push_back({Bytes(4), {0, F}, {{1, F}}});
  Plan plan = *planBalance(problem);
  EXPECT_EQ(plan.stages[1].memory, Bytes(8));
  // The channel carries eight values of 4 seconds, one after another.
  EXPECT_DOUBLE_EQ(plan.time.value, 1 + 8 * 4 + 1);
}

/// The min over all cuts of the max load of stages and cuts.
static double exhaustive(const Problem &problem) {
  int64_t layers = problem.layers.size();
  double best = std::numeric_limits<double>::infinity();
  std::vector<int64_t> ends;
  std::function<void(int64_t)> extend = [&](int64_t first) {
    if (int64_t(ends.size()) + 1 == problem.stages) {
      ends.push_back(layers);
      double most = 0;
      for (int64_t s = 0, at = 0; s < problem.stages; at = ends[s++]) {
        double load = 0, cut = 0;
        for (int64_t l = at; l < ends[s]; ++l)
          load += problem.layers[l].times[0].total().value;
        for (const LayerValue &value : problem.values)
          for (const LayerPhase &use : value.uses)
            if (std::min(use.layer, value.producer.layer) < at &&
                std::max(use.layer, value.producer.layer) >= at)
              cut += double(value.bytes.value);
        most = std::max({most, load, cut});
      }
      best = std::min(best, most);
      ends.pop_back();
      return;
    }
    for (int64_t end = first + 1; end < layers; ++end) {
      ends.push_back(end);
      extend(end);
      ends.pop_back();
    }
  };
  extend(0);
  return best;
}

TEST(Balance, EqualsExhaustiveSearch) {
  std::mt19937 random(8); // Fixed seed: the same on every machine.
  auto draw = [&](int64_t most) { return int64_t(random() % (most + 1)); };
  for (int instance = 0; instance < 500; ++instance) {
    int64_t layers = 2 + draw(6),
            stages = 1 + draw(std::min(layers, int64_t(4)) - 1);
    std::vector<double> loads;
    std::vector<int64_t> bytes;
    for (int64_t l = 0; l < layers; ++l) {
      loads.push_back(double(1 + draw(20)));
      bytes.push_back(draw(20));
    }
    Problem problem = chain(loads, bytes, stages, 1 + draw(8));
    problem.orders = {instance % 2 ? ExecutionOrder::GPipe
                                   : ExecutionOrder::OneFOneB};
    int64_t from = draw(layers - 1), to = draw(layers - 1);
    if (from < to)
      problem.values.push_back({Bytes(draw(20)), {from, F}, {{to, F}}});
    Result<Plan> plan = planBalance(problem);
    ASSERT_TRUE(plan) << plan.error().message;
    double most = 0;
    for (const StagePlan &stage : plan->stages) {
      double cut = 0;
      for (const LayerValue &value : problem.values)
        for (const LayerPhase &use : value.uses)
          if (std::min(use.layer, value.producer.layer) <
                  stage.layers.front() &&
              std::max(use.layer, value.producer.layer) >= stage.layers.front())
            cut += double(value.bytes.value);
      most = std::max({most, stage.times.total().value, cut});
    }
    EXPECT_DOUBLE_EQ(most, exhaustive(problem)) << "instance " << instance;
    EXPECT_LE(plan->planBound.value, plan->time.value * (1 + 1e-12))
        << "instance " << instance;
  }
}
