//===- EvaluateTest.cpp - time and memory of a plan -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Scheduling/InFlight.h"
#include "stagewright/Simulation/Flows.h"
#include <gtest/gtest.h>

using namespace stagewright;

static constexpr ActionKind F = ActionKind::Forward;
static constexpr ActionKind I = ActionKind::InputGradient;

/// Two hosts of two devices: 8 B/s inside, 2 B/s between, NICs of 1 B/s.
static Cluster twoHosts() {
  Cluster cluster;
  cluster.name = "two";
  for (int64_t i = 0; i < 4; ++i)
    cluster.devices.push_back({"d" + std::to_string(i), "gpu", i / 2,
                               FlopRate(1), Bandwidth(1), Bytes(1000)});
  cluster.fabric.inside = Joint{Bandwidth(8), Seconds(0)};
  cluster.fabric.between = Joint{Bandwidth(2), Seconds(0)};
  cluster.fabric.nic = Bandwidth(1);
  return cluster;
}

/// Layers with a forward of one second and a backward of two; neighbours
/// exchange `bytes` in each direction; each has `parameters` bytes of
/// gradients.
static Problem chain(int64_t layers, int64_t bytes, int64_t parameters) {
  Problem problem;
  problem.cluster = twoHosts();
  problem.microbatches = 4;
  for (int64_t l = 0; l < layers; ++l) {
    problem.layers.push_back(
        {"l" + std::to_string(l), {{Seconds(1), Seconds(2), Seconds(0)}}});
    problem.residents.push_back(
        {Bytes(parameters), ResidentKind::Gradient, {l}});
    if (l + 1 == layers)
      break;
    problem.values.push_back({Bytes(bytes), {l, F}, {{l + 1, F}, {l + 1, I}}});
    problem.values.push_back({Bytes(bytes), {l + 1, I}, {{l, I}}});
  }
  return problem;
}

static Network networkOf(const Problem &problem) {
  return *Network::create(problem.cluster);
}

TEST(Transfer, PairsShareWhatASliceNeeds) {
  Network network = networkOf(chain(1, 0, 0));
  // 16 bytes inside a host, from one sender.
  EXPECT_DOUBLE_EQ(transferTime(network, {0}, {1}, {1}, {1}, Bytes(16)).value,
                   2);
  // Two senders to one receiver: 8 bytes from each, one after the other; the
  // transfer between hosts runs at the NIC's rate.
  EXPECT_DOUBLE_EQ(
      transferTime(network, {0, 2}, {0.5, 0.5}, {1}, {1}, Bytes(16)).value, 9);
  // The NICs carry everything that one host sends to the other.
  EXPECT_DOUBLE_EQ(
      transferTime(network, {0, 1}, {0.5, 0.5}, {2, 3}, {0.5, 0.5}, Bytes(16))
          .value,
      16);
  // A device sends nothing to itself.
  EXPECT_DOUBLE_EQ(transferTime(network, {0}, {1}, {0}, {1}, Bytes(16)).value,
                   0);
}

/// Half of each microbatch goes from host 1 to host 0 and back, half stays on
/// host 0. A device of host 1 sends half as fast as its NIC.
TEST(Flows, AreByPairOfHosts) {
  Problem problem = chain(2, 16, 0);
  problem.cluster.fabric.nic = Bandwidth(4);
  problem.model.sharing = LinkSharing::Oes;
  Plan plan;
  plan.stages = {stageOf(0, 1, {0, 2}), stageOf(1, 2, {1})};
  PipelineModel model = pipelineOf(problem, networkOf(problem), plan);
  ASSERT_TRUE(model.check().ok());
  ASSERT_EQ(model.channels.size(), 2u);
  EXPECT_TRUE(model.channels[0].forwardShared.empty());
  EXPECT_DOUBLE_EQ(model.channels[1].forward.value, 4); // 8 B at 2 B/s.
  std::vector<size_t> degrees = linkDegrees(model);
  std::vector<double> bytes = linkBytes(model);
  for (size_t nic = 0; nic < 4; ++nic) { // Out and in of hosts 0 and 1.
    EXPECT_EQ(degrees[nic], 1u);
    EXPECT_DOUBLE_EQ(bytes[nic], 4 * 8);
    EXPECT_DOUBLE_EQ(model.linkRates[nic], 4);
  }
  Result<FlowCertificate> certificate =
      certifyFlows(model, ExecutionOrder::GPipe);
  ASSERT_TRUE(certificate.ok());
  EXPECT_DOUBLE_EQ(certificate->makespan.value,
                   certificate->criticalPath.value);
  EXPECT_DOUBLE_EQ(certificate->linkLoad.value, 16); // The device: 32 / 2.
}

TEST(AllReduce, IsARing) {
  Network network = networkOf(chain(1, 0, 0));
  EXPECT_DOUBLE_EQ(allReduceTime(network, {0}, Bytes(16)).value, 0);
  EXPECT_DOUBLE_EQ(allReduceTime(network, {0, 1}, Bytes(16)).value, 2);
  EXPECT_DOUBLE_EQ(allReduceTime(network, {0, 1, 2, 3}, Bytes(16)).value, 24);
}

TEST(Shares, FollowSpeedInWholeSamples) {
  CostModel model;
  EXPECT_EQ(sharesOf({1, 1, 1, 1}, model, 0),
            (std::vector<double>{0.25, 0.25, 0.25, 0.25}));
  EXPECT_EQ(sharesOf({1, 3}, model, 0), (std::vector<double>{0.75, 0.25}));
  // Every replica gets a sample.
  EXPECT_EQ(sharesOf({1, 3}, model, 2), (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(sharesOf({1, 100, 100}, model, 4),
            (std::vector<double>{0.5, 0.25, 0.25}));
  EXPECT_EQ(sharesOf({1, 1}, model, 1), (std::vector<double>{1, 0}));
  EXPECT_EQ(sharesOf({1, 1}, model, 5), (std::vector<double>{0.6, 0.4}));
  model.unevenSlices = false;
  EXPECT_EQ(sharesOf({1, 3}, model, 0), (std::vector<double>{0.5, 0.5}));
}

TEST(Pipeline, SlicedStagesAndChannels) {
  Problem problem = chain(3, 16, 8);
  problem.model.overlapAllReduce = false;
  Plan plan;
  plan.stages = {stageOf(0, 2, {0, 1}), stageOf(2, 3, {2})};
  PipelineModel model = pipelineOf(problem, networkOf(problem), plan);
  EXPECT_DOUBLE_EQ(model.stages[0].times.forward.value, 1);
  EXPECT_DOUBLE_EQ(model.stages[0].backward().value, 2);
  // Each of two layers all-reduces 8 bytes at 8 B/s.
  EXPECT_DOUBLE_EQ(model.stages[0].tail.value, 2);
  ASSERT_EQ(model.channels.size(), 1u);
  EXPECT_DOUBLE_EQ(model.channels[0].forward.value, 16);
  EXPECT_DOUBLE_EQ(model.channels[0].backward.value, 16);
  EXPECT_EQ(model.channels[0].forwardLanes, model.channels[0].backwardLanes);
  EXPECT_EQ(model.channels[0].forwardShared.front().size(), 2u);
}

// The all-reduce of layer 1 overlaps with the backward of layer 0 (one second
// for half a microbatch).
TEST(Pipeline, AllReduceOverlapsTheBackward) {
  Problem problem = chain(2, 0, 8);
  Plan plan;
  plan.stages = {stageOf(0, 2, {0, 1})};
  EXPECT_DOUBLE_EQ(
      pipelineOf(problem, networkOf(problem), plan).stages[0].tail.value, 1);
  problem.residents[1].bytes = Bytes(80); // 10 s, of which 1 s is hidden.
  EXPECT_DOUBLE_EQ(
      pipelineOf(problem, networkOf(problem), plan).stages[0].tail.value, 10);
  EXPECT_DOUBLE_EQ(plan.stages[0].allReduce.value, 11);
}

TEST(Pipeline, SkipsGoStraightOrFromStageToStage) {
  Problem problem = chain(3, 0, 0);
  problem.values = {{Bytes(8), {0, F}, {{2, F}}}};
  Plan plan;
  plan.stages = {stageOf(0, 1, {0}), stageOf(1, 2, {1}), stageOf(2, 3, {2})};
  PipelineModel model = pipelineOf(problem, networkOf(problem), plan);
  ASSERT_EQ(model.channels.size(), 1u);
  EXPECT_EQ(model.channels[0].to, 2u);
  EXPECT_FALSE(model.channels[0].hasBackward);
  problem.model.directSkips = false;
  model = pipelineOf(problem, networkOf(problem), plan);
  ASSERT_EQ(model.channels.size(), 2u);
  EXPECT_DOUBLE_EQ(model.channels[0].forward.value, 1);
  EXPECT_DOUBLE_EQ(model.channels[1].forward.value, 8);
}

TEST(Pipeline, UnsliceableLayersTakeTurns) {
  Problem problem = chain(2, 8, 0);
  problem.layers[0].sliceable = false;
  Plan plan;
  plan.stages = {stageOf(0, 1, {0, 1}), stageOf(1, 2, {2})};
  PipelineModel model = pipelineOf(problem, networkOf(problem), plan);
  EXPECT_EQ(model.stages[0].processors.size(), 2u);
  EXPECT_DOUBLE_EQ(model.stages[0].times.forward.value, 1);
  EXPECT_EQ(model.channels[0].forwardLanes.size(), 2u);
}

TEST(Pipeline, TiedParametersAreSentToTheirOwner) {
  Problem problem = chain(2, 0, 0);
  problem.residents = {{Bytes(8), ResidentKind::Gradient, {0, 1}}};
  Plan plan;
  plan.stages = {stageOf(0, 1, {0}), stageOf(1, 2, {1})};
  PipelineModel model = pipelineOf(problem, networkOf(problem), plan);
  ASSERT_EQ(model.ties.size(), 1u);
  EXPECT_EQ(model.ties[0].from, 1u);
  // The gradient is sent one way, the new value back.
  EXPECT_DOUBLE_EQ(model.ties[0].seconds.value, 2);
}

TEST(Memory, RecomputationKeepsWhatIsReceived) {
  Problem problem = chain(3, 16, 0);
  std::vector<bool> isHere = {false, true, true};
  StageMemory kept = stageMemory(problem, isHere, false);
  EXPECT_EQ(kept.receivedStash.all(), 16);
  EXPECT_EQ(kept.stash.all(), 16);
  StageMemory again = stageMemory(problem, isHere, true);
  EXPECT_EQ(again.receivedStash.all(), 16);
  EXPECT_EQ(again.stash.all(), 0);
  EXPECT_EQ(again.recomputed, 16);
  EXPECT_EQ(kept.with(3, 8, 0.5), Bytes(3 * 8 + 4 * 8));
  EXPECT_EQ(again.with(3, 8, 0.5), Bytes(4 * 8 + 8));
}

TEST(Memory, TemporariesAreThoseOfTheLayerThatNeedsMost) {
  Problem problem = chain(3, 16, 0);
  problem.layers[0].temporaries = Bytes(900);
  problem.layers[1].temporaries = Bytes(40);
  problem.layers[2].temporaries = Bytes(60);
  StageMemory memory = stageMemory(problem, {false, true, true}, false);
  EXPECT_EQ(memory.temporaries, 60);
  // A replica has half of each microbatch, and temporaries for one at a time.
  EXPECT_EQ(memory.with(3, 8, 0.5), Bytes(3 * 8 + 4 * 8 + 30));
  // An upper bound for every stage.
  EXPECT_GE(mostMemory(problem), Bytes(900 + 8 * 16 * 2));
}

// Each of two pipelines side by side holds as many microbatches as it would
// alone; replicas that send to the same device hold more.
TEST(Memory, InFlightOfReplicasInTurn) {
  EXPECT_EQ(inFlightInTurn(ExecutionOrder::OneFOneB, 6, 2, 32), 3);
  EXPECT_EQ(inFlightInTurn(ExecutionOrder::EarlyBackward, 6, 2, 32), 5);
  EXPECT_EQ(inFlightInTurn(ExecutionOrder::Window, 6, 2, 32), 9);
  EXPECT_EQ(inFlightInTurn(ExecutionOrder::GPipe, 6, 2, 32), 16);
  EXPECT_EQ(inFlightInTurn(ExecutionOrder::OneFOneB, 3, 2, 32), 2);
  EXPECT_EQ(inFlightInTurn(ExecutionOrder::OneFOneB, 7, 1, 32), 7);
  EXPECT_EQ(inFlightInTurn(ExecutionOrder::OneFOneB, 7, 2, 5), 3);
}

TEST(Pipeline, OneSampleGoesToOneReplica) {
  Problem problem = chain(2, 8, 0);
  problem.samples = 1;
  problem.microbatches = 4;
  Plan plan;
  plan.stages = {stageOf(0, 2, {0, 1})};
  EXPECT_TRUE(takesTurns(problem, plan.stages[0]));
  EXPECT_EQ(sharesOf(problem, plan.stages[0]), (std::vector<double>{1, 1}));
  PipelineModel model = pipelineOf(problem, networkOf(problem), plan);
  EXPECT_DOUBLE_EQ(makespanOf(model, ExecutionOrder::OneFOneB).value,
                   2 * (model.stages[0].times.total().value));
}

TEST(Memory, InFlightByOrder) {
  EXPECT_EQ(inFlightOf(ExecutionOrder::OneFOneB, 3, 16), 3);
  EXPECT_EQ(inFlightOf(ExecutionOrder::EarlyBackward, 3, 16), 5);
  EXPECT_EQ(inFlightOf(ExecutionOrder::Window, 3, 16), 9);
  EXPECT_EQ(inFlightOf(ExecutionOrder::Window, 3, 4), 4);
  EXPECT_EQ(inFlightOf(ExecutionOrder::GPipe, 3, 16), 16);
}

// In window order senders are so far ahead that with two slots ranks would wait
// for each other.
TEST(Memory, RingsOfWindowHaveOneSlotMore) {
  StageMemory memory;
  memory.received = 10;
  EXPECT_EQ(memory.with(ByLife(2), 8, 1, 1, slotsAtOnce("1f1b")), Bytes(20));
  EXPECT_EQ(memory.with(ByLife(2), 8, 1, 1, slotsAtOnce("window")), Bytes(30));
  EXPECT_EQ(memory.with(ByLife(2), 2, 1, 1, slotsAtOnce("window")), Bytes(20));
}

// A single stage takes the same time in every order, so memory does not bind,
// although GPipe would need 64 stashes.
TEST(Evaluate, MemoryBindsOnlyWhereItCostsTime) {
  Problem problem = chain(2, 100, 0);
  problem.microbatches = 64;
  Plan plan;
  plan.stages = {stageOf(0, 2, {0})};
  ASSERT_TRUE(evaluate(problem, networkOf(problem), plan));
  EXPECT_EQ(plan.stages[0].binding, Binding::Compute);
  EXPECT_LE(plan.planBound.value, plan.time.value);
  problem.cluster.devices[0].memory = Bytes(10);
  EXPECT_EQ(evaluate(problem, networkOf(problem), plan)
                .error()
                .message.find("stage 0 needs 100 B on device d0, has 10 B"),
            0u);
}

// Stage 0 lacks more bytes than stage 1, but can recompute what it keeps.
TEST(Evaluate, NamesTheStageThatCannotFit) {
  Problem problem = chain(2, 0, 0);
  problem.orders = {ExecutionOrder::OneFOneB};
  problem.values.push_back({Bytes(1000), {0, F}, {{0, I, /*levels=*/1}}});
  problem.layers[0].levels = {{{Seconds(1)}}};
  problem.residents.push_back({Bytes(500), ResidentKind::Constant, {1}});
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(100);
  Plan plan;
  plan.stages = {stageOf(0, 1, {0}), stageOf(1, 2, {1})};
  Status status = evaluate(problem, networkOf(problem), plan);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "stage 1 needs 500 B on device d1, has 100 B; use more stages, "
            "fewer microbatches or a device with 400 B more");
}

// Beside the constant, each of the two devices has room for one sample of 25
// bytes.
TEST(Evaluate, NamesTheReasonForMissingRoom) {
  Problem problem = chain(1, 0, 0);
  problem.samples = 4;
  problem.residents.push_back({Bytes(90), ResidentKind::Constant, {0}});
  problem.values.push_back({Bytes(100), {0, F}, {{0, I}}});
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(120);
  Plan plan;
  plan.stages = {stageOf(0, 1, {0, 1})};
  Status status = evaluate(problem, networkOf(problem), plan);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find(
                "with any shares its devices have room for 2 of the 4 samples"),
            std::string::npos)
      << status.error().message;
}
