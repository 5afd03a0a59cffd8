//===- CreditMemoryTest.cpp - memory of ready-first execution -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three layers in a row, each a stage on a device of its own.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/CreditMemory.h"
#include "PlanningData.h"
#include "stagewright/Cost/Network.h"
#include "stagewright/Scheduling/ReadyFirst.h"
#include <numeric>

using namespace stagewright;
using enum ActionKind;

namespace {
class CreditMemoryOf : public testing::Test {
protected:
  CreditMemoryOf() {
    problem.cluster = hostsOf({3}, 1, 1);
    problem.microbatches = 8;
    for (int64_t layer = 0; layer < 3; ++layer) {
      problem.cluster.devices[size_t(layer)].memory = Bytes(1000);
      problem.layers.push_back({std::to_string(layer), {{}}});
      StagePlan &stage = stages.emplace_back();
      stage.layers = {layer};
      stage.devices = {size_t(layer)};
    }
    schedule = generate("1f1b");
  }

  Schedule generate(const char *name) const {
    return *findGenerator(name)->generate({3, problem.microbatches, false});
  }
  void add(int64_t bytes, LayerPhase producer, std::vector<LayerPhase> uses) {
    problem.values.push_back({Bytes(bytes), producer, std::move(uses), {}});
  }
  Result<CreditMemory> memory() const {
    ReplicaRanks ranks = {{0}, {1}, {2}};
    int64_t next = 3; // Of devices that take microbatches in turn.
    for (size_t s = 0; s < 3; ++s)
      for (size_t i = 1; i < stages[s].devices.size(); ++i)
        if (stages[s].rows.empty())
          ranks[s].push_back(next++);
    return creditMemoryOf(problem, stages, ranks, schedule);
  }
  /// The rings as text: "F0-I1 100".
  std::string rings() const {
    std::string text;
    Result<CreditMemory> all = memory();
    for (const CreditRing &ring : all->rings) {
      auto name = [](StagePhase phase) {
        return std::string(1, letter(phase.phase)) +
               std::to_string(phase.stage);
      };
      text += (text.empty() ? "" : ", ") + name(ring.made) + "-" +
              name(ring.last) + " " + std::to_string(int64_t(ring.size)) +
              (!ring.recomputes   ? ""
               : *ring.recomputes ? " if repeated"
                                  : " if kept");
    }
    return text;
  }

  /// Puts the stages of `numbers` on `devices`, which share the samples of each
  /// microbatch by `rows`. Device 3 has 400 bytes, the others have 1000.
  void shareSamples(std::vector<size_t> numbers, std::vector<size_t> devices,
                    std::vector<int64_t> rows) {
    problem.samples = std::accumulate(rows.begin(), rows.end(), int64_t(0));
    problem.cluster = hostsOf({4}, 1, 1);
    for (Device &device : problem.cluster.devices)
      device.memory = Bytes(1000);
    problem.cluster.devices[3].memory = Bytes(400);
    for (size_t stage : numbers) {
      stages[stage].devices = devices;
      stages[stage].rows = rows;
    }
  }

  Problem problem;
  std::vector<StagePlan> stages;
  Schedule schedule;
};
} // namespace

TEST_F(CreditMemoryOf, KeptAndReceivedValuesHaveRings) {
  add(10, {0, Forward}, {{0, InputGradient}, {1, Forward}, {2, InputGradient}});
  add(20, {1, Forward}, {{2, Forward}, {2, WeightGradient}});
  add(30, {1, InputGradient}, {{0, InputGradient}});
  add(40, {2, Forward}, {{2, Forward}}); // Within one action.
  // Backwards are whole, so W is within I.
  EXPECT_EQ(rings(), "F0-I0 10, F0-F1 10, F0-I2 10, F1-I2 20, I1-I0 30");
  EXPECT_EQ(memory()->limits, (std::vector<double>{1000, 1000, 1000}));
  EXPECT_TRUE(memory()->inBytes);
}

TEST_F(CreditMemoryOf, WeightGradientsKeepTheirInputs) {
  schedule = generate("zb-h1");
  add(10, {1, Forward}, {{1, InputGradient}, {1, WeightGradient}});
  add(20, {2, InputGradient}, {{1, InputGradient}, {1, WeightGradient}});
  add(30, {1, InputGradient}, {{1, WeightGradient}});
  EXPECT_EQ(rings(), "F1-W1 10, I2-W1 20, I1-W1 30");
}

TEST_F(CreditMemoryOf, RepeatedForwardsKeepTheirInputsInstead) {
  schedule = runAgain(generate("zb-h1"), {false, true, false});
  add(10, {0, Forward}, {{1, Forward}});
  add(20, {1, Forward}, {{1, InputGradient}, {2, Forward}});
  add(30, {1, Forward}, {{1, WeightGradient}});
  EXPECT_EQ(rings(), "F0-F1 10 if kept, F0-I1 10 if repeated, "
                     "F1-I1 20 if kept, R1-I1 20 if repeated, F1-F2 20, "
                     "F1-W1 30 if kept, R1-W1 30 if repeated");
}

TEST_F(CreditMemoryOf, LevelsDecideWhatIsUsed) {
  problem.layers[1].levels = {{{Seconds()}}};
  add(10, {0, Forward}, {{1, Forward}, {1, InputGradient, /*levels=*/2}});
  add(20, {1, Forward}, {{1, InputGradient, /*levels=*/1}});
  EXPECT_EQ(rings(), "F0-F1 10, F1-I1 20");
  stages[1].levels = {1};
  EXPECT_EQ(rings(), "F0-I1 10");
}

TEST_F(CreditMemoryOf, LimitsAreWhatParametersAndTemporariesLeave) {
  problem.residents = {{Bytes(100), ResidentKind::Parameter, {0}},
                       {Bytes(7), ResidentKind::PerMicrobatch, {1}},
                       {Bytes(50), ResidentKind::Parameter, {0, 2}}};
  problem.layers[2].temporaries = Bytes(30);
  // Rank 0 gets the gradient of the second parameter from rank 2, and adds it
  // to its own.
  EXPECT_EQ(memory()->limits,
            (std::vector<double>{1000 - 100 - 50 - 2 * 50, 1000 - 8 * 7,
                                 1000 - 50 - 30}));
  problem.cluster.devices[1].memory = Bytes(50);
  EXPECT_EQ(memory().error().message,
            "rank 1 needs 56 B on device d1 even with no microbatch in flight, "
            "has 50 B; use more devices, fewer microbatches or a device with "
            "6 B more");
}

// Of three samples, the devices have one and two; the second has as much memory
// for two as the first for one.
TEST_F(CreditMemoryOf, ReplicasThatShareSamplesHoldTheirShares) {
  shareSamples({2}, {2, 3}, {1, 2});
  problem.residents = {{Bytes(100), ResidentKind::Parameter, {2}}};
  EXPECT_DOUBLE_EQ(memory()->limits[2], 300 * 3 / 2.0);
}

// Stages 0 and 1 are on the same two devices, which share samples.
TEST_F(CreditMemoryOf, TheSmallestSharingDeviceLimitsItsStages) {
  shareSamples({0, 1}, {0, 3}, {1, 1});
  EXPECT_EQ(creditMemoryOf(problem, stages, {{0}, {0}, {1}}, schedule)->limits,
            (std::vector<double>{400, 400, 1000}));
}

// Stages 0 and 2 have a parameter of 50 B in common. If one of them is on two
// ranks, all sum their gradients in place, else rank 0 gets two.
TEST_F(CreditMemoryOf, RanksOfReplicasSumGradientsInPlace) {
  problem.samples = 2;
  problem.cluster = hostsOf({4}, 1, 1);
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(1000);
  problem.residents = {{Bytes(50), ResidentKind::Parameter, {0, 2}}};
  EXPECT_DOUBLE_EQ(memory()->limits[0], 1000 - 50 - 2 * 50);
  for (size_t shared : {0, 2})
    for (bool inTurn : {false, true}) {
      std::vector<StagePlan> alone = stages;
      stages[shared].devices.push_back(3);
      if (!inTurn)
        stages[shared].rows = {1, 1};
      bool isHalf = shared == 0 && !inTurn; // Of each microbatch.
      EXPECT_DOUBLE_EQ(memory()->limits[0], (isHalf ? 2 : 1) * (1000.0 - 50));
      stages = std::move(alone);
    }
}

TEST_F(CreditMemoryOf, TheSmallestReplicaLimitsThoseThatTakeTurns) {
  problem.samples = 1;
  problem.cluster = hostsOf({6}, 1, 1);
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(1000);
  problem.cluster.devices[4].memory = Bytes(600);
  for (size_t s = 0; s < 3; ++s)
    stages[s].devices = {s, s + 3};
  EXPECT_EQ(memory()->limits, (std::vector<double>{1000, 600, 1000}));
}

// Two gangs of two devices on a host each: stages 0 and 1 on the first, 2 and 3
// on the second. Both directions between two stages have the longer delay.
TEST_F(CreditMemoryOf, HopsAreThoseBetweenTheDevicesOfStages) {
  problem.cluster = hostsOf({2, 2}, /*inside=*/1000, /*between=*/10);
  problem.layers.clear();
  stages.clear();
  for (int64_t layer = 0; layer < 5; ++layer) {
    problem.layers.push_back(
        {std::to_string(layer),
         {{Seconds(double(layer)), Seconds(10), Seconds(100)}}});
    StagePlan &stage = stages.emplace_back();
    stage.layers = {layer};
    stage.devices = {layer == 4 ? 3 : size_t(layer)};
  }
  add(2000, {0, Forward}, {{1, Forward}, {2, Forward}});
  add(50, {1, Forward}, {{3, Forward}});
  add(70, {3, InputGradient}, {{1, InputGradient}});
  add(90, {3, Forward}, {{4, Forward}});
  StageGraph graph = {5, false, {}};
  for (auto [from, to] : {std::pair(0, 1), {0, 2}, {1, 3}, {3, 1}, {3, 4}}) {
    ActionKind phase = from < to ? Forward : InputGradient;
    graph.edges.push_back({{phase, from}, {phase, to}, {phase, to}});
  }
  StepTimes times =
      stepTimesOf(problem, *Network::create(problem.cluster), stages, graph);
  std::vector<double> hops;
  for (Seconds hop : times.hops)
    hops.push_back(hop.value);
  EXPECT_EQ(hops, (std::vector<double>{2, 200, 7, 7, 0}));
  EXPECT_EQ(times.stages[4].total().value, 4 + 10 + 100);
}
