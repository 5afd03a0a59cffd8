//===- BoundsTest.cpp - what no order and no plan can beat ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Bounds.h"
#include "RandomInstances.h"
#include "stagewright/Planning/Placed.h"
#include <gtest/gtest.h>
#include <limits>

using namespace stagewright;
using namespace stagewright::testing;

/// Equal stages on a straight line of channels.
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
  // In front of the last channel 3 F and 2 c, behind it 3 B and 2 c.
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
  // A tie waits for the stage it comes from.
  model.ties.push_back({1, 0, Seconds(12)});
  EXPECT_DOUBLE_EQ(planLowerBound(model).value, 2 + 0.5 + 24 + 12);
}

TEST(PlanBound, NicSharedByTwoChannelsCarriesBoth) {
  PipelineModel model = straight(3, 1, 1, 4, 10);
  double alone = planLowerBound(model).value;
  size_t nic = model.numLinks++;
  for (PipelineChannel &channel : model.channels)
    channel.forwardShared = channel.backwardShared = {nic};
  // F of stage 0 first, then 10 x 4 transfers, then B of stage 0.
  EXPECT_DOUBLE_EQ(planLowerBound(model).value, 1 + 160 + 1);
  EXPECT_LT(alone, 100);
  // In a window all four transfers go one after another.
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

/// The best time over all plans of `problem`.
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

/// Every way to cut `layers` layers into `stages` parts.
static void forEachCut(int64_t layers, int64_t stages,
                       const std::function<void(std::vector<int64_t>)> &visit,
                       std::vector<int64_t> ends = {}) {
  int64_t first = ends.empty() ? 0 : ends.back();
  if (int64_t(ends.size()) + 1 == stages) {
    ends.push_back(layers);
    return visit(ends);
  }
  for (int64_t end = first + 1;
       end <= layers - (stages - int64_t(ends.size()) - 1); ++end) {
    std::vector<int64_t> more = ends;
    more.push_back(end);
    forEachCut(layers, stages, visit, more);
  }
}

/// No cut of any number of chunks, in any order that there is, beats the bound
/// of its shape; and it says more than that of the work alone.
TEST(PlacedBound, NoCutAndNoOrderIsFaster) {
  int64_t plans = 0, sharper = 0, shapes = 0;
  double nearest = std::numeric_limits<double>::infinity();
  for (uint64_t seed = 0; seed < 40 / kPart; ++seed) {
    Draw draw(seed);
    Problem problem;
    problem.cluster = randomCluster(draw, 4, 1e3, 1e3);
    problem.microbatches = draw.whole(4, 9);
    problem.model.overlapAllReduce = draw.chance(0.5);
    int64_t layers = draw.whole(2, 6);
    addRandomLayers(problem, draw, layers, 1, draw.chance(0.5) ? 2000 : 0);
    problem.samples = 1;
    for (Layer &layer : problem.layers) {
      StageTimes &times = layer.times[0];
      times.weightGradient = times.inputGradient * draw.real(0, 0.6);
      times.inputGradient -= times.weightGradient;
    }
    Network network = *Network::create(problem.cluster);
    for (int64_t ranks = 1; ranks <= std::min<int64_t>(4, layers); ranks *= 2)
      for (bool splits : {false, true}) {
        PipelineShape shape{ranks, 4 / ranks};
        double bound =
            placedLowerBound(problem, network, {shape}, splits).value;
        EXPECT_GE(bound, workLowerBound(problem).value);
        double best = std::numeric_limits<double>::infinity();
        for (const Generator &generator : allGenerators())
          for (int64_t chunks = 1; chunks * ranks <= layers; ++chunks) {
            Placement placement =
                chunks == 1 ? Placement::Linear : generator.placement;
            StagePlacement where{placement, ranks, chunks};
            if (generator.placement == Placement::Twin ||
                (generator.splitsBackward && !splits) ||
                !fits(generator, where))
              continue;
            forEachCut(layers, ranks * chunks, [&](std::vector<int64_t> ends) {
              Plan plan;
              for (size_t s = 0; s < ends.size(); ++s) {
                int64_t rank = rankOf(placement, ranks, chunks, int64_t(s));
                std::vector<size_t> devices;
                for (int64_t k = 0; k < shape.pipelines; ++k)
                  devices.push_back(size_t(rank * shape.pipelines + k));
                plan.stages.push_back(
                    stageOf(s == 0 ? 0 : ends[s - 1], ends[s], devices));
              }
              if (!evaluatePlaced(problem, network, generator, plan))
                return;
              ++plans;
              best = std::min(best, plan.time.value);
              EXPECT_LE(bound, plan.time.value * (1 + 1e-9))
                  << "seed " << seed << ", " << ranks << " ranks, " << chunks
                  << " chunks, " << generator.name;
            });
          }
        if (best == std::numeric_limits<double>::infinity())
          continue;
        ++shapes;
        sharper += bound > workLowerBound(problem).value * (1 + 1e-9);
        nearest = std::min(nearest, best / bound);
      }
  }
  EXPECT_GT(plans, 1000 / int64_t(kPart));
  EXPECT_GT(sharper, shapes / 2);
  EXPECT_LT(nearest, 1.01);
}
