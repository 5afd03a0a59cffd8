//===- PipelineTest.cpp - makespans of plans and orders -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineModels.h"
#include "stagewright/Scheduling/Generators.h"
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>

using namespace stagewright;

/// Makespans in the order of allExecutionOrders().
static std::vector<double> allMakespans(const PipelineModel &model) {
  std::vector<double> makespans;
  for (ExecutionOrder order : allExecutionOrders())
    makespans.push_back(makespanOf(model, order).value);
  return makespans;
}

/// Worked examples of golden/planners.json.
static nlohmann::json workedExample(const char *name) {
  std::ifstream file(STAGEWRIGHT_SHARED "/data/golden/planners.json");
  EXPECT_TRUE(file);
  return nlohmann::json::parse(file)["worked_examples"][name];
}

/// Compares all orders in the file, which lacks 1F1B.
static void expectOrders(const PipelineModel &model,
                         const nlohmann::json &example) {
  const std::pair<const char *, ExecutionOrder> orders[] = {
      {"window", ExecutionOrder::Window},
      {"greedy", ExecutionOrder::Greedy},
      {"KA", ExecutionOrder::CapA},
      {"KB", ExecutionOrder::EarlyBackward},
      {"gpipe", ExecutionOrder::GPipe}};
  for (auto [name, order] : orders)
    EXPECT_EQ(makespanOf(model, order).value, example[name].get<double>())
        << name;
}

TEST(Pipeline, ExampleE1) {
  expectOrders(chainModel({2, 2}, {4, 4}, {0.5}, 4), workedExample("E1"));
}

TEST(Pipeline, ExampleE2) {
  PipelineModel model = chainModel({1, 3}, {2, 6}, {0.5}, 4);
  double all = workedExample("E2")["all_orders"];
  EXPECT_EQ(allMakespans(model), std::vector<double>(6, all));
}

TEST(Pipeline, ExampleE3) {
  nlohmann::json example = workedExample("E3");
  PipelineModel model = chainModel({2, 4}, {4, 8}, {1}, 4);
  model.stages[0].tail = Seconds(example["A"][0]);
  EXPECT_EQ(makespanOf(model, ExecutionOrder::Window).value,
            example["T"].get<double>());
}

// The other plan of E3, which is only in the text: a stage with F = 3, B = 6 on
// two devices, then one with F = 2, B = 4 on one. The values before layer 2
// have size 2; each replica sends half: c = 2 * (1/2) / 2 * 2 = 1.
TEST(Pipeline, ExampleE3OtherPlan) {
  PipelineModel model = chainModel({3, 2}, {6, 4}, {1}, 4);
  model.stages[0].tail = Seconds(2 * 0.5 * (3 + 6) / 2.0);
  std::vector<double> makespans = allMakespans(model);
  makespans.pop_back();
  EXPECT_EQ(makespans, std::vector<double>({40.5, 40.5, 50.5, 50.5, 48.5}));
}

TEST(Pipeline, ExampleE4) {
  expectOrders(chainModel({1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3}, 6),
               workedExample("E4"));
}

TEST(Pipeline, EqualStagesWithoutTransfers) {
  for (size_t stages = 1; stages <= 6; ++stages)
    for (int64_t m = 1; m <= 9; ++m) {
      PipelineModel model = chainModel(std::vector<double>(stages, 0.1),
                                       std::vector<double>(stages, 0.3),
                                       std::vector<double>(stages - 1, 0), m);
      double expected = double(m + int64_t(stages) - 1) * 0.4;
      for (ExecutionOrder order :
           {ExecutionOrder::GPipe, ExecutionOrder::OneFOneB})
        EXPECT_NEAR(makespanOf(model, order).value, expected, 1e-12);
    }
}

// Without transfer times, both simulators agree on 1F1B: that of schedules and
// that of pipelines.
TEST(Pipeline, OneFOneBAgreesWithTheSchedule) {
  std::mt19937 random(7);
  for (int64_t stages = 1; stages <= 6; ++stages)
    for (int64_t m = 1; m <= 12; ++m) {
      std::vector<double> forward, backward;
      StepTimes times;
      for (int64_t n = 0; n < stages; ++n) {
        forward.push_back(double(random() % 20) / 4);
        backward.push_back(double(random() % 20) / 4);
        times.stages.push_back(
            {Seconds(forward[n]), Seconds(backward[n]), Seconds()});
      }
      Schedule schedule = *generateOneFOneB({stages, m, false});
      auto timeline = timeSchedule(schedule, chainGraph(stages, false), times);
      PipelineModel model = chainModel(
          forward, backward, std::vector<double>(size_t(stages - 1), 0), m);
      ASSERT_EQ(makespanOf(model, ExecutionOrder::OneFOneB).value,
                timeline->makespan.value);
    }
}

// T <= max_n (M + 4S - 4 - 2(n-1)) C + A_n: docs/planner.md, (4).
TEST(Pipeline, WindowOrderKeepsItsBound) {
  std::mt19937 random(11);
  PipelineSimulator simulator;
  for (int round = 0; round < 20000; ++round) {
    size_t stages = 1 + random() % 8;
    std::vector<double> forward, backward, channels;
    double load = 0;
    for (size_t n = 0; n < stages; ++n) {
      forward.push_back(double(random() % 1000));
      backward.push_back(double(random() % 1000));
      load = std::max(load, forward[n] + backward[n]);
      if (n + 1 < stages) {
        channels.push_back(double(random() % 1000));
        load = std::max(load, 2 * channels[n]);
      }
    }
    auto m = int64_t(1 + random() % 40);
    PipelineModel model = chainModel(forward, backward, channels, m);
    double bound = 0;
    for (size_t n = 0; n < stages; ++n) {
      model.stages[n].tail = Seconds(double(random() % 3000));
      bound = std::max(
          bound, double(m + 4 * int64_t(stages) - 4 - 2 * int64_t(n)) * load +
                     model.stages[n].tail.value);
    }
    ASSERT_LE(simulator.makespanOf(model, ExecutionOrder::Window).value, bound)
        << "seed 11, round " << round;
  }
}

// In double precision 0.1 + 0.2 > 0.3, which would start the wrong block first.
TEST(Pipeline, EqualTimesAreEqual) {
  // The forward of microbatch 1 and the gradient of 0 reach the channel at the
  // same time, 0.1 + 0.2 and 0.3; the gradient must go first.
  PipelineModel model = chainModel({0.1, 0.2}, {0.1, 0.1}, {0.3}, 3);
  PipelineModel whole = chainModel({1, 2}, {1, 1}, {3}, 3);
  for (ExecutionOrder order : allExecutionOrders())
    EXPECT_DOUBLE_EQ(makespanOf(model, order).value * 10,
                     makespanOf(whole, order).value);
}

// Stages 0 and 1 are on one host, 2 and 3 on another. The backward of stage 0
// needs messages of stages 1 and 2, that of stage 1 one of stage 3.
TEST(Pipeline, MessagesOfBackwardsGoFromTheLastStageOn) {
  PipelineModel model;
  auto addStage = [&](size_t processor, double backward) {
    PipelineStage stage;
    stage.times = {Seconds(1), Seconds(backward), Seconds()};
    stage.processors = {processor};
    model.stages.push_back(stage);
  };
  auto addChannel = [&](size_t from, size_t to, double backward) {
    PipelineChannel channel;
    channel.from = from;
    channel.to = to;
    channel.backward = Seconds(backward);
    channel.forwardLanes = channel.backwardLanes = {model.channels.size()};
    if (backward > 0)
      channel.backwardShared = {{4}}; // The NIC.
    model.channels.push_back(channel);
  };
  addStage(0, 1);
  addStage(0, 5);
  addStage(1, 1);
  addStage(1, 1);
  addChannel(0, 2, 10);
  addChannel(1, 3, 10);
  addChannel(0, 1, 0);
  addChannel(2, 3, 0);
  model.numProcessors = 2;
  model.numLinks = 5;
  model.microbatches = 2;
  // Forwards end at 5. Messages of microbatch 0 take the NIC from 6 to 26. Both
  // of microbatch 1 then wait: that of stage 3 goes first and arrives at 36,
  // stage 1 ends at 41; the other arrives at 46, and stage 0 ends at 47.
  EXPECT_DOUBLE_EQ(makespanOf(model, ExecutionOrder::GPipe).value, 47);
}

TEST(Pipeline, AtMostCutsOnlyWhatIsLonger) {
  std::mt19937 random(5);
  PipelineSimulator simulator;
  for (int round = 0; round < 300; ++round) {
    PipelineModel model = randomModel(random);
    for (ExecutionOrder order : allExecutionOrders()) {
      Seconds makespan = makespanOf(model, order);
      ASSERT_TRUE(std::isfinite(makespan.value));
      ASSERT_EQ(simulator.makespanOf(model, order, makespan), makespan);
      ASSERT_EQ(simulator.makespanOf(model, order, makespan * 2), makespan);
      if (makespan.value > 0)
        ASSERT_TRUE(std::isinf(
            simulator.makespanOf(model, order, makespan * 0.999).value));
    }
  }
}

// The part of an all-reduce that overlaps the last backward slows this backward
// down.
TEST(Pipeline, CollectivesSlowComputeDown) {
  PipelineModel model = chainModel({1}, {2}, {}, 3);
  model.stages[0].overlapped = Seconds(1);
  model.stages[0].tail = Seconds(0.5);
  EXPECT_EQ(makespanOf(model, ExecutionOrder::GPipe).value, 9.5);
  model.collectiveSlowdown = 1.5;
  EXPECT_EQ(makespanOf(model, ExecutionOrder::GPipe).value, 10);
}

TEST(Pipeline, CheckNamesWhatIsWrong) {
  PipelineModel good = chainModel({1, 1}, {1, 1}, {1}, 2);
  EXPECT_TRUE(good.check());
  PipelineModel model = good;
  model.stages[1].times.forward = Seconds(std::nan(""));
  EXPECT_EQ(model.check().error().message,
            "the forward of stage 1 takes nan seconds; expected a finite "
            "number, not negative");
  model = good;
  model.channels[0].to = 2;
  EXPECT_EQ(model.check().error().message,
            "channel 0 goes from stage 0 to stage 2; expected a later one of 2 "
            "stages");
  model = good;
  model.channels[0].backwardLanes = {4};
  EXPECT_EQ(model.check().error().message,
            "channel 0: link number 4 is out of range; there are 1");
  model = good;
  model.microbatches = 0;
  EXPECT_FALSE(model.check());
}

// If all stages have equally many replicas that take turns, they form parallel
// pipelines, each as fast as alone.
TEST(Pipeline, ReplicasInTurnArePipelinesSideBySide) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    auto time = [&] { return double(1 + random() % 9); };
    size_t stages = 1 + random() % 5, replicas = 2 + random() % 2;
    std::vector<double> forward, backward, hops;
    for (size_t s = 0; s < stages; ++s) {
      forward.push_back(time());
      backward.push_back(time());
      if (s > 0)
        hops.push_back(time());
    }
    auto microbatches = int64_t(1 + random() % 12);
    PipelineModel one = chainModel(forward, backward, hops, microbatches);
    PipelineModel all = one;
    all.microbatches = microbatches * int64_t(replicas);
    all.numProcessors = all.numLinks = 0;
    for (PipelineStage &stage : all.stages) {
      stage.processors.clear();
      for (size_t k = 0; k < replicas; ++k)
        stage.processors.push_back(all.numProcessors++);
    }
    for (PipelineChannel &channel : all.channels) {
      channel.forwardLanes.clear();
      for (size_t k = 0; k < replicas; ++k)
        channel.forwardLanes.push_back(all.numLinks++);
      channel.backwardLanes = channel.forwardLanes;
    }
    EXPECT_EQ(allMakespans(all), allMakespans(one)) << "round " << round;
  }
}
