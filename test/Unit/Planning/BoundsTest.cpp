//===- BoundsTest.cpp - bounds of a step's time ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Bounds.h"
#include "RandomInstances.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace stagewright;
using namespace stagewright::testing;

/// A pipeline of equal stages and equal channels.
static PipelineModel straight(size_t stages, double forward, double backward,
                              double channel, int64_t microbatches) {
  PipelineModel model;
  model.microbatches = microbatches;
  for (size_t s = 0; s < stages; ++s) {
    PipelineStage stage;
    stage.times = {Seconds(forward), Seconds(backward), Seconds(0)};
    stage.processors = {model.numProcessors++};
    model.stages.push_back(stage);
    if (s + 1 == stages)
      break;
    PipelineChannel link;
    link.from = s;
    link.to = s + 1;
    link.forward = link.backward = Seconds(channel);
    link.forwardLanes = link.backwardLanes = {model.numLinks++};
    model.channels.push_back(link);
  }
  return model;
}

TEST(PlanBound, ExampleE1) {
  PipelineModel model = straight(2, 2, 4, 0.5, 4);
  // First forward 2, transfer, 4 microbatches of 6, transfer, last backward 4.
  EXPECT_DOUBLE_EQ(planLowerBound(model).value, 31);
  EXPECT_DOUBLE_EQ(makespanOf(model, ExecutionOrder::Window).value, 31);
  EXPECT_DOUBLE_EQ(windowUpperBound(model)->value, 48);
}

TEST(PlanBound, ExampleE4IsBoundByItsChannels) {
  PipelineModel model = straight(4, 1, 2, 3, 6);
  // Before the last channel's work 3 F and 2 transfers, after it the same with
  // B.
  EXPECT_DOUBLE_EQ(planLowerBound(model).value, 3 + 6 + 36 + 6 + 6);
  EXPECT_DOUBLE_EQ(makespanOf(model, ExecutionOrder::Window).value, 57);
  EXPECT_DOUBLE_EQ(windowUpperBound(model)->value, 108);
}

TEST(PlanBound, TailOrWayBackWhicheverIsLonger) {
  PipelineModel model = straight(2, 2, 4, 0.5, 4);
  model.stages[1].tail = Seconds(10);
  EXPECT_DOUBLE_EQ(planLowerBound(model).value, 2 + 0.5 + 24 + 10);
  model.stages[1].tail = Seconds(1);
  EXPECT_DOUBLE_EQ(planLowerBound(model).value, 31);
  // The tie starts after the backward of stage 1.
  model.ties.push_back({1, 0, Seconds(12)});
  EXPECT_DOUBLE_EQ(planLowerBound(model).value, 2 + 0.5 + 24 + 12);
}

TEST(PlanBound, NicSharedByTwoChannelsCarriesBoth) {
  PipelineModel model = straight(3, 1, 1, 4, 10);
  double alone = planLowerBound(model).value;
  size_t nic = model.numLinks++;
  for (PipelineChannel &channel : model.channels)
    channel.forwardShared = channel.backwardShared = {{nic}};
  // The first F of stage 0, 10 x 4 transfers, then the last B of stage 0.
  EXPECT_DOUBLE_EQ(planLowerBound(model).value, 1 + 160 + 1);
  EXPECT_LT(alone, 100);
  // In window order all four transfers of a microbatch are serialized.
  EXPECT_DOUBLE_EQ(windowUpperBound(model)->value, (10 + 8) * 16);
}

TEST(PlanBound, StagesOfOneProcessorAddUp) {
  PipelineModel model = straight(3, 1, 2, 0, 5);
  model.stages[2].processors = model.stages[0].processors;
  EXPECT_DOUBLE_EQ(planLowerBound(model).value, 2 * 5 * 3);
  EXPECT_FALSE(windowUpperBound(model));
}

TEST(PlanBound, ReplicasInTurnShareTheMicrobatches) {
  PipelineModel model = straight(1, 1, 2, 0, 5);
  model.stages[0].processors = {0, 1};
  model.numProcessors = 2;
  EXPECT_DOUBLE_EQ(planLowerBound(model).value, 3 * 3);
  EXPECT_FALSE(windowUpperBound(model));
}

TEST(PlanBound, ForwardOnly) {
  PipelineModel model = straight(3, 2, 7, 1, 4);
  model.forwardOnly = true;
  EXPECT_DOUBLE_EQ(planLowerBound(model).value, 4 * 2 + 2 * (2 + 1));
  EXPECT_DOUBLE_EQ(windowUpperBound(model)->value, (4 + 4) * 2);
}

/// The min time over all plans of `problem`.
static double bestTime(const Problem &problem) {
  Network network = *Network::create(problem.cluster);
  return bestOfAllPlans(problem, network,
                        std::numeric_limits<double>::infinity());
}

TEST(FamilyBound, OneDeviceIsExact) {
  Problem problem;
  Draw draw(1);
  problem.cluster = randomCluster(draw, 1, 1, 1);
  problem.microbatches = 7;
  addRandomLayers(problem, draw, 4, 2, 2);
  Network network = *Network::create(problem.cluster);
  double best = bestTime(problem);
  EXPECT_NEAR(familyLowerBound(problem, network).value, best, 1e-9 * best);
}

/// Three layers on four devices; each of `holders` holds a constant.
static Problem threeLayers(std::vector<int64_t> holders, Bytes constant) {
  Problem problem;
  Draw draw(1);
  problem.cluster = randomCluster(draw, 4, 1, 1);
  problem.microbatches = 2;
  addRandomLayers(problem, draw, 3, 0, 0);
  problem.residents.clear();
  for (int64_t layer : holders)
    problem.residents.push_back({constant, ResidentKind::Constant, {layer}});
  return problem;
}

TEST(FamilyBound, IsInfiniteIfLayersDoNotFit) {
  Problem problem = threeLayers({0, 1, 2}, Bytes(100));
  for (int64_t memory : {99, 100, 101}) { // Three layers: three stages.
    for (Device &device : problem.cluster.devices)
      device.memory = Bytes(memory);
    Network network = *Network::create(problem.cluster);
    EXPECT_EQ(std::isfinite(familyLowerBound(problem, network).value),
              memory >= 100);
  }
}

TEST(FamilyBound, IsInfiniteIfOneLayerDoesNotFit) {
  // Two parts that only layer 1 holds; a third of all is 70 bytes.
  Problem problem = threeLayers({0, 1, 1}, Bytes(70));
  for (int64_t memory : {139, 140}) {
    for (Device &device : problem.cluster.devices)
      device.memory = Bytes(memory);
    Network network = *Network::create(problem.cluster);
    bool fits = memory >= 140;
    EXPECT_EQ(std::isfinite(familyLowerBound(problem, network).value), fits);
    EXPECT_EQ(
        std::isfinite(
            placedLowerBound(problem, network, {{2, 2}, {3, 1}}, true).value),
        fits);
  }
}

TEST(FamilyBound, FlatNetworkWithoutGradientsIsNear) {
  double worst = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Draw draw(seed);
    Problem problem;
    problem.cluster = randomCluster(draw, 4, 2, 2);
    problem.microbatches = draw.whole(1, 32);
    problem.model.sharedNics = false;
    addRandomLayers(problem, draw, draw.whole(2, 6), 2, 0);
    Network network = *Network::create(problem.cluster);
    double bound = familyLowerBound(problem, network).value;
    double best = bestTime(problem);
    EXPECT_LE(bound, best * (1 + 1e-9)) << "seed " << seed;
    worst = std::max(worst, best / bound);
  }
  EXPECT_LT(worst, 1.01);
}

TEST(FamilyBound, UnequalDevicesAndSkips) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Draw draw(seed);
    Problem problem;
    problem.cluster = randomCluster(draw, 4, 0.5, 8);
    problem.cluster.devices[1].deviceClass = "slow";
    problem.cluster.devices[3].deviceClass = "slow";
    problem.microbatches = draw.whole(1, 16);
    problem.samples = draw.chance(0.5) ? 0 : draw.whole(1, 8);
    problem.model.sharedNics = false;
    problem.model.unevenSlices = draw.chance(0.5);
    problem.model.overlapAllReduce = draw.chance(0.5);
    addRandomLayers(problem, draw, draw.whole(2, 5), 4, 8);
    bool proportional = draw.chance(0.5);
    for (Layer &layer : problem.layers) {
      double slower = proportional ? 2.5 : draw.real(1, 4);
      layer.times[1].forward = layer.times[0].forward * slower;
      layer.times[1].inputGradient = layer.times[0].inputGradient * slower;
    }
    Network network = *Network::create(problem.cluster);
    double bound = familyLowerBound(problem, network).value;
    EXPECT_LE(bound, bestTime(problem) * (1 + 1e-9));
    EXPECT_GT(bound, 0);
  }
}
