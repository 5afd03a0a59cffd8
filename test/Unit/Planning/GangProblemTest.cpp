//===- GangProblemTest.cpp - shards of layers as one device ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random chains of layers that are split over shards: the times of gangs
// against sums by hand, and plans and bounds of gangs against the simulated
// plan of the devices.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/GangProblem.h"
#include "stagewright/Scheduling/Generators.h"
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace stagewright;

namespace {
/// Layers of the gang, each with two levels on every shard: the first needs
/// values of all shards, the second those of its own.
struct Sharded {
  Sharded(size_t ways, size_t layers, size_t hosts, std::mt19937 &random);

  size_t number(size_t level, size_t shard) const {
    return level * places.ways + shard;
  }

  Problem problem;
  ShardedLayers places;
};
} // namespace

static constexpr double kInside = 8, kBetween = 4, kLatency = 0.5;
/// Bytes from one shard to another.
static constexpr int64_t kBytes = 16;

static void addValue(Problem &problem, ActionKind phase, size_t from,
                     size_t to) {
  problem.values.push_back(
      {Bytes(kBytes), {int64_t(from), phase}, {{int64_t(to), phase}}, {}});
}

Sharded::Sharded(size_t ways, size_t layers, size_t hosts,
                 std::mt19937 &random) {
  problem.cluster.name = "hosts";
  for (size_t d = 0; d < hosts * ways; ++d)
    problem.cluster.devices.push_back({"d" + std::to_string(d), "c",
                                       int64_t(d / ways), FlopRate(1),
                                       Bandwidth(1), Bytes(1 << 30)});
  problem.cluster.fabric = {Joint{Bandwidth(kInside), Seconds(kLatency)},
                            Joint{Bandwidth(kBetween), Seconds(kLatency)},
                            Bandwidth(double(ways) * kBetween),
                            Bandwidth(kInside)};
  problem.wholeBackward = true;
  problem.model.sharesRings = true;
  problem.microbatches = 4;
  problem.samples = 1;
  places.ways = ways;
  for (size_t level = 0; level < 2 * layers; ++level) {
    StageTimes times{Seconds(double(20 + random() % 20)),
                     Seconds(double(40 + random() % 40)), Seconds()};
    for (size_t shard = 0; shard < ways; ++shard) {
      problem.layers.push_back(
          {"l" + std::to_string(level) + "." + std::to_string(shard), {times}});
      places.places.push_back({level, shard});
      for (size_t other = 0; level > 0 && other < ways; ++other)
        if (level % 2 == 1 || other == shard) {
          addValue(problem, ActionKind::Forward, number(level - 1, other),
                   number(level, shard));
          addValue(problem, ActionKind::InputGradient, number(level, other),
                   number(level - 1, shard));
        }
    }
    if (level % 2 == 1)
      places.ends.push_back(level + 1);
  }
}

/// The plan of the devices for a plan of the gangs.
static Plan onDevices(const Sharded &sharded, const Plan &gangs) {
  Plan plan;
  plan.schedule = gangs.schedule;
  size_t ways = sharded.places.ways;
  for (size_t number = 0; number < gangs.stages.size(); ++number) {
    const StagePlan &stage = gangs.stages[number];
    for (int64_t layer : stage.layers)
      for (size_t level = 2 * size_t(layer); level < 2 * size_t(layer) + 2;
           ++level)
        for (size_t shard = 0; shard < ways; ++shard) {
          StagePlan &own = plan.stages.emplace_back();
          own.layers = {int64_t(sharded.number(level, shard))};
          own.gangStage = int64_t(number);
          for (size_t gang : stage.devices)
            own.devices.push_back(gang * ways + shard);
        }
  }
  return plan;
}

/// By device: bytes of its stages, max over the replicas of a stage.
static std::map<size_t, int64_t> bytesByDevice(const Plan &plan) {
  std::map<size_t, int64_t> bytes;
  for (const StagePlan &stage : plan.stages)
    for (size_t device : stage.devices)
      bytes[device] += stage.memory.value;
  return bytes;
}

TEST(GangProblem, AGangWaitsForTheMessagesOfItsDevices) {
  std::mt19937 random(5);
  for (size_t ways : {2, 4}) {
    Sharded sharded(ways, 3, 2, random);
    Result<GangProblems> made = gangProblems(sharded.problem, sharded.places);
    ASSERT_TRUE(made);
    Problem *most = &made->most, *least = &made->least,
            *compute = &made->compute;
    ASSERT_EQ(most->layers.size(), 3u);
    ASSERT_EQ(most->cluster.devices.size(), 2u);
    EXPECT_EQ(most->cluster.devices[1].name,
              "d" + std::to_string(ways) + "-d" + std::to_string(2 * ways - 1));
    EXPECT_EQ(most->shards, int64_t(ways));
    // All others send through the port of a device.
    double wait = kLatency + double((ways - 1) * kBytes) / kInside;
    for (size_t layer = 0; layer < 3; ++layer) {
      double forward = 0, backward = 0;
      for (size_t level = 2 * layer; level < 2 * layer + 2; ++level) {
        const StageTimes &own =
            sharded.problem.layers[sharded.number(level, 0)].times[0];
        forward += own.forward.value;
        backward += own.inputGradient.value;
      }
      EXPECT_DOUBLE_EQ(compute->layers[layer].times[0].forward.value, forward);
      for (const Problem *problem : {&*most, &*least}) {
        const StageTimes &times = problem->layers[layer].times[0];
        EXPECT_DOUBLE_EQ(times.forward.value, forward + wait);
        EXPECT_DOUBLE_EQ(times.inputGradient.value, backward + wait);
      }
    }
    // Between gangs each shard sends its own values through its own port.
    Result<Network> network = Network::create(most->cluster);
    ASSERT_TRUE(network);
    EXPECT_DOUBLE_EQ(network->bandwidth(0, 1), kBetween);
  }
}

TEST(GangProblem, PlansTakeWhatTheirDevicesTake) {
  std::mt19937 random(7);
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Sharded sharded(2 + 2 * (random() % 2), 4 + random() % 5, 2 + random() % 3,
                    random);
    joinToChain(sharded.problem, sharded.places);
    Result<GangProblems> problems =
        gangProblems(sharded.problem, sharded.places);
    ASSERT_TRUE(problems);
    PlacedFamily family = gangFamily(sharded.problem, "");
    family.leastRanks = 2;
    Result<Plan> plan = planPlaced(problems->most, family);
    ASSERT_TRUE(plan) << plan.error().message;
    Plan same = *plan;
    ASSERT_TRUE(evaluatePlaced(problems->most,
                               *Network::create(problems->most.cluster),
                               *findGenerator(plan->schedule), same));
    for (size_t s = 0; s < same.stages.size(); ++s)
      EXPECT_EQ(plan->stages[s].memory, same.stages[s].memory);
    for (auto [device, bytes] : bytesByDevice(*plan))
      EXPECT_GT(bytes, 0) << device;
    Plan devices = onDevices(sharded, *plan);
    Result<Network> network = Network::create(sharded.problem.cluster);
    ASSERT_TRUE(network);
    Status status = evaluatePlaced(sharded.problem, *network,
                                   *findGenerator(plan->schedule), devices);
    ASSERT_TRUE(status) << status.error().message;
    Result<Seconds> bound = gangBound(*problems, family);
    ASSERT_TRUE(bound);
    EXPECT_LE(bound->value, devices.time.value * (1 + 1e-9));
    EXPECT_NEAR(plan->time.value / devices.time.value, 1, 0.02);
  }
}

/// `sharded` with values of `own` bytes from each forward to its backward, and
/// with layers that may repeat their whole forward.
static void keepValues(Sharded &sharded, int64_t own) {
  sharded.places.repeats = true;
  for (int64_t layer = 0; layer < int64_t(sharded.problem.layers.size());
       ++layer)
    sharded.problem.values.push_back({Bytes(own),
                                      {layer, ActionKind::Forward},
                                      {{layer, ActionKind::InputGradient},
                                       {layer, ActionKind::WeightGradient}}});
}

// At that level a layer keeps what the shards sent to its first level, and not
// what it makes; the backward takes longer by the whole forward.
TEST(GangProblem, LayersMayRepeatTheirForward) {
  std::mt19937 random(5);
  Sharded sharded(4, 3, 2, random);
  keepValues(sharded, 1000);
  Result<GangProblems> made = gangProblems(sharded.problem, sharded.places);
  ASSERT_TRUE(made);
  Problem *most = &made->most;
  for (const Layer &layer : most->layers) {
    ASSERT_EQ(layer.levels.size(), 1u);
    EXPECT_EQ(layer.levels[0].seconds[0], layer.times[0].forward);
    // Two levels, and the ring of what all shards send to the first.
    EXPECT_EQ(layer.levels[0].temporaries, layer.temporaries + Bytes(2 * 1000));
  }
  StagePlan stage = stageOf(1, 2, {0});
  StageMemory all = stageMemory(*most, stage);
  EXPECT_EQ(all.stash.all(), 2 * 1000);
  EXPECT_EQ(all.receivedStash.all(), 0);
  stage.levels = {1};
  StageMemory less = stageMemory(*most, stage);
  EXPECT_EQ(less.stash.all(), 0);
  EXPECT_EQ(less.receivedStash.all(), kBytes); // From the shard's own layer.
  EXPECT_EQ(less.temporaries, 2 * 1000 + all.temporaries);
  // Without backwards nothing is kept.
  sharded.problem.forwardOnly = true;
  made = gangProblems(sharded.problem, sharded.places);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->most.mostLevels(), 0);
}

// At recomputation level 1 no backward reads the value, so it is no stash: it
// is passed from one level to the next within the forward.
TEST(GangProblem, ValuesThatRecomputationDoesNotKeepArePassedOn) {
  std::mt19937 random(3);
  Sharded sharded(2, 2, 1, random);
  for (Layer &layer : sharded.problem.layers)
    layer.levels.push_back({{Seconds(1)}});
  int64_t from = int64_t(sharded.number(0, 0)),
          to = int64_t(sharded.number(1, 0));
  auto more = [&](std::vector<LayerPhase> uses) {
    Problem problem = sharded.problem;
    problem.values.push_back(
        {Bytes(1000), {from, ActionKind::Forward}, std::move(uses), {}});
    Layer layer = gangProblems(problem, sharded.places)->most.layers[0];
    return (layer.levels[0].temporaries - layer.temporaries).value;
  };
  EXPECT_EQ(more({{to, ActionKind::Forward}}), 0); // At both levels.
  EXPECT_EQ(more({{to, ActionKind::Forward},
                  {to, ActionKind::InputGradient, /*levels=*/1}}),
            1000);
}

// If a schedule can delay W, what it reads is held from where I makes it again.
TEST(GangProblem, RepeatedValuesOfWeightGradientsAreHeldFromInputGradients) {
  std::mt19937 random(5);
  Sharded sharded(4, 3, 2, random);
  keepValues(sharded, 1000);
  sharded.problem.wholeBackward = false;
  Result<GangProblems> made = gangProblems(sharded.problem, sharded.places);
  ASSERT_TRUE(made);
  Problem *most = &made->most;
  StagePlan stage = stageOf(1, 2, {0});
  EXPECT_EQ(stageMemory(*most, stage).stash.toWeight, 2 * 1000);
  stage.levels = {1};
  StageMemory repeated = stageMemory(*most, stage);
  EXPECT_EQ(repeated.temporaries,
            stageMemory(*most, stageOf(1, 2, {0})).temporaries);
  EXPECT_EQ(repeated.stash.all(), 2 * 1000);
  EXPECT_EQ(repeated.stash.between, 2 * 1000);
}

TEST(GangProblem, RepeatsTakeWhatTheCopyThatRepeatsTakes) {
  std::mt19937 random(5);
  Sharded sharded(4, 3, 2, random);
  keepValues(sharded, 1000);
  auto again = std::make_shared<RepeatedLayers>(
      RepeatedLayers{sharded.problem, sharded.places});
  again->layers.repeats = false;
  for (Layer &layer : again->problem.layers)
    layer.times[0].inputGradient += Seconds(0.25);
  sharded.places.again = again;
  Result<GangProblems> problems = gangProblems(sharded.problem, sharded.places);
  ASSERT_TRUE(problems);
  for (const Problem *problem :
       {&problems->most, &problems->least, &problems->compute})
    for (const Layer &layer : problem->layers) // Two levels each.
      EXPECT_NEAR(layer.levels[0].seconds[0].value, 0.5, 1e-9);
}

TEST(GangProblem, PlansThatRepeatFitInLessMemoryAndKeepTheirBound) {
  std::mt19937 random(3);
  int onlySo = 0;
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Sharded sharded(2, 5 + random() % 3, 2 + random() % 2, random);
    keepValues(sharded, 1000);
    joinToChain(sharded.problem, sharded.places);
    for (Device &device : sharded.problem.cluster.devices)
      device.memory = Bytes(int64_t(3000 + random() % 12000));
    PlacedFamily family = gangFamily(sharded.problem, "");
    family.leastRanks = 2;
    sharded.places.repeats = false;
    Result<GangProblems> keeping =
        gangProblems(sharded.problem, sharded.places);
    sharded.places.repeats = true;
    Result<GangProblems> repeating =
        gangProblems(sharded.problem, sharded.places);
    ASSERT_TRUE(keeping && repeating);
    Result<Plan> plain = planPlaced(keeping->most, family),
                 plan = planRepeating(repeating->most, family);
    onlySo += plan.ok() && !plain.ok();
    if (plain) {
      ASSERT_TRUE(plan);
      EXPECT_LE(plan->time, plain->time);
    }
    if (!plan)
      continue;
    Result<Seconds> bound = gangBound(*repeating, family);
    ASSERT_TRUE(bound);
    EXPECT_LE(bound->value, plan->time.value * (1 + 1e-9));
    EXPECT_TRUE(verifyPlaced(repeating->most, *plan));
  }
  EXPECT_GT(onlySo, 2);
}

TEST(GangProblem, JoinsLayersThatAreNoChain) {
  std::mt19937 random(9);
  Sharded sharded(2, 3, 2, random);
  // Nothing returns from the last layer of the gang to the one before.
  std::erase_if(sharded.problem.values, [](const LayerValue &value) {
    return value.producer.phase == ActionKind::InputGradient &&
           value.producer.layer / 2 == 4;
  });
  joinToChain(sharded.problem, sharded.places);
  EXPECT_EQ(sharded.places.ends, (std::vector<size_t>{2, 6}));
}

// The plan of the gangs and the check of the devices' plan both count the rings
// of all messages once. The check lets what one level passes to the next share
// its place with stashes.
TEST(GangProblem, PlansCountTheRingsOfTheirDevices) {
  std::mt19937 random(13);
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Sharded sharded(2 + 2 * (random() % 2), 4 + random() % 5, 2 + random() % 3,
                    random);
    keepValues(sharded, int64_t(random() % 200));
    sharded.places.repeats = false;
    joinToChain(sharded.problem, sharded.places);
    Result<GangProblems> problems =
        gangProblems(sharded.problem, sharded.places);
    ASSERT_TRUE(problems);
    PlacedFamily family = gangFamily(sharded.problem, "");
    family.leastRanks = 2;
    Result<Plan> plan = planPlaced(problems->most, family);
    ASSERT_TRUE(plan) << plan.error().message;
    Plan devices = onDevices(sharded, *plan);
    ASSERT_TRUE(evaluatePlaced(sharded.problem,
                               *Network::create(sharded.problem.cluster),
                               *findGenerator(plan->schedule), devices));
    std::map<size_t, int64_t> gangs = bytesByDevice(*plan);
    for (auto [device, bytes] : bytesByDevice(devices)) {
      int64_t gang = gangs.at(device / sharded.places.ways);
      EXPECT_GE(gang, bytes);
      EXPECT_LE(gang, bytes + kBytes);
    }
  }
}

TEST(GangProblem, NeedsDevicesForOneGang) {
  std::mt19937 random(9);
  Sharded sharded(2, 1, 1, random);
  sharded.places.ways = 4;
  Result<GangProblems> problem = gangProblems(sharded.problem, sharded.places);
  ASSERT_FALSE(problem);
  EXPECT_EQ(problem.error().message,
            "4 shards need 4 devices, cluster 'hosts' has 2");
}
