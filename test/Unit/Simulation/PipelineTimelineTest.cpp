//===- PipelineTimelineTest.cpp - simulated blocks over time --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/PipelineTimeline.h"
#include "../OrderText.h"
#include "PipelineModels.h"
#include "stagewright/Scheduling/Generators.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace stagewright;

static void expectNoOverlap(const std::vector<PipelineBlock> &blocks) {
  for (size_t b = 1; b < blocks.size(); ++b)
    ASSERT_LE(blocks[b - 1].end, blocks[b].start);
}

static void expectGapless(const PipelineTimeline &timeline) {
  Seconds time;
  for (const CriticalBlock &critical : timeline.criticalPath) {
    ASSERT_EQ(critical.block.start, time);
    time = critical.block.end;
  }
  ASSERT_EQ(time, timeline.makespan);
}

/// Makes some stages copy their stash to the host and back.
static void addCopies(PipelineModel &model, std::mt19937 &random) {
  if (model.forwardOnly)
    return;
  for (PipelineStage &stage : model.stages)
    if (random() % 2 == 0) {
      stage.copying = Seconds(double(1 + random() % 4));
      stage.leavingSlots = 1 + random() % 2;
      for (size_t i = 0; i < stage.processors.size(); ++i) {
        stage.leavingLanes.push_back(model.numLinks++);
        stage.comingLanes.push_back(model.numLinks++);
      }
    }
}

TEST(PipelineTimeline, CopiesRunBesideComputing) {
  PipelineModel model;
  model.stages.push_back({{Seconds(1), Seconds(2), Seconds(0)}, {}, {}, {0}});
  model.numProcessors = 1;
  model.microbatches = 4;
  auto take = [&](double copying, ExecutionOrder order) {
    model.stages[0].copying = Seconds(copying);
    model.stages[0].leavingLanes = {0};
    model.stages[0].comingLanes = {1};
    model.numLinks = 2;
    return makespanOf(model, order).value;
  };
  // With one slot for a stash being copied out, forwards wait for copies.
  EXPECT_EQ(take(0.5, ExecutionOrder::GPipe), 4 + 3 * 0.5 + 8);
  // The first backward waits for the last forward, which ends at 13. Then
  // copies of 3 s overlap backwards; the second one frees a slot for the last.
  EXPECT_EQ(take(3, ExecutionOrder::GPipe), 13 + 2 + 3 + 3 + 2);
  model.stages[0].leavingSlots = 2;
  EXPECT_EQ(take(0.5, ExecutionOrder::GPipe), 12);
  // One forward, four copies out, one copy back, one backward.
  EXPECT_EQ(take(3, ExecutionOrder::GPipe), 1 + 4 * 3 + 3 + 2);
  // With one microbatch in flight, nothing overlaps.
  EXPECT_EQ(take(3, ExecutionOrder::OneFOneB), 4 * (1 + 3 + 3 + 2));
  EXPECT_EQ(take(3, ExecutionOrder::Window), 4 * (1 + 3 + 3 + 2));
  Result<PipelineTimeline> timeline =
      simulatePipeline(model, ExecutionOrder::GPipe);
  ASSERT_TRUE(timeline);
  EXPECT_EQ(toString(timeline->links[0][1], model), "0>hostF1");
  EXPECT_EQ(toString(timeline->links[1][0], model), "host>0B0");
  EXPECT_EQ(timeline->links[1][0].start, Seconds(4));
}

TEST(PipelineTimeline, AgreesWithMakespanOf) {
  const unsigned seed = 31;
  std::mt19937 random(seed);
  for (int round = 0; round < 1500; ++round) {
    PipelineModel model = randomModel(random);
    if (round % 3 == 0)
      model.collectiveSlowdown = 1.5;
    if (round % 4 == 0)
      addCopies(model, random);
    for (ExecutionOrder order : allExecutionOrders()) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", round " +
                   std::to_string(round) + ", " + toString(order));
      Result<PipelineTimeline> timeline = simulatePipeline(model, order);
      ASSERT_TRUE(timeline);
      ASSERT_EQ(timeline->makespan, makespanOf(model, order));
      ASSERT_LE(timeline->span, timeline->makespan);
      for (const auto &blocks : timeline->processors)
        expectNoOverlap(blocks);
      for (const auto &blocks : timeline->links)
        expectNoOverlap(blocks);
      expectGapless(*timeline);
      int64_t ahead = 0;
      for (size_t n = model.stages.size(); n-- > 0;) {
        // Each replica has an equal part of the limit, rounded up.
        auto own = int64_t(model.stages[n].processors.size());
        ahead += own;
        auto together = [&](int64_t all) {
          return (all + own - 1) / own * own;
        };
        if (order == ExecutionOrder::CapA || order == ExecutionOrder::OneFOneB)
          ASSERT_LE(timeline->peakInFlight[n], together(ahead));
        if (order == ExecutionOrder::EarlyBackward)
          ASSERT_LE(timeline->peakInFlight[n], together(2 * ahead - own));
      }
    }
  }
}

/// A random chain. Each hop has one resource for both directions, or two.
static PipelineModel randomChain(std::mt19937 &random, size_t stages,
                                 int64_t microbatches, bool transfers) {
  std::vector<double> forward, backward, channels;
  for (size_t n = 0; n < stages; ++n) {
    forward.push_back(double(random() % 8));
    backward.push_back(double(random() % 8));
    if (n + 1 < stages)
      channels.push_back(transfers ? double(random() % 5) : 0);
  }
  PipelineModel model = chainModel(forward, backward, channels, microbatches);
  for (PipelineStage &stage : model.stages)
    stage.times.weightGradient = Seconds(double(random() % 8));
  return model;
}

TEST(PipelineTimeline, GeneratedSchedulesTakeWhatTheirOrdersTake) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    size_t stages = 1 + random() % 5;
    auto m = int64_t(1 + random() % 9);
    PipelineModel model = randomChain(random, stages, m, true);
    ScheduleShape shape{int64_t(stages), m, false};
    EXPECT_EQ(simulatePipeline(model, *generateGPipe(shape))->makespan,
              makespanOf(model, ExecutionOrder::GPipe));
    EXPECT_EQ(simulatePipeline(model, *generateOneFOneB(shape))->makespan,
              makespanOf(model, ExecutionOrder::OneFOneB));
  }
}

// Stages compute in the generator's order, whatever the times.
TEST(PipelineTimeline, WindowOrderComputesInTheGeneratorsOrder) {
  std::mt19937 random(9);
  for (int round = 0; round < 200; ++round) {
    size_t stages = 1 + random() % 6;
    auto m = int64_t(1 + random() % 30);
    PipelineModel model = randomChain(random, stages, m, true);
    for (PipelineStage &stage : model.stages)
      stage.times.forward += Seconds(1); // Blocks of length 0 have no order.
    Schedule schedule = *generateWindow({int64_t(stages), m, false});
    auto timeline = simulatePipeline(model, ExecutionOrder::Window);
    for (size_t rank = 0; rank < stages; ++rank) {
      Order order;
      for (const PipelineBlock &block : timeline->processors[rank])
        order.push_back({block.kind == BlockKind::Forward
                             ? ActionKind::Forward
                             : ActionKind::Backward,
                         int64_t(block.number), block.microbatch});
      ASSERT_EQ(order, schedule.ranks[rank]) << "round " << round;
    }
  }
}

// Zero-bubble orders: ZB-H1 for `slack` 1, ZB-H2 for
// `slack` 2.
static Schedule zeroBubble(int64_t stages, int64_t m, int64_t slack) {
  Schedule schedule{"zb", stages, m, {}};
  for (int64_t r = 0; r < stages; ++r) {
    Order order;
    int64_t next = 0, weight = 0;
    auto forward = [&] {
      if (next < m)
        order.push_back({ActionKind::Forward, r, next++});
    };
    for (int64_t warmUp = slack * (stages - r - 1); warmUp > 0; --warmUp)
      forward();
    for (int64_t j = 0; j < m; ++j) {
      forward();
      order.push_back({ActionKind::InputGradient, r, j});
      if (j >= slack * r)
        order.push_back({ActionKind::WeightGradient, r, weight++});
    }
    while (weight < m)
      order.push_back({ActionKind::WeightGradient, r, weight++});
    schedule.ranks.push_back(order);
  }
  return schedule;
}

static PipelineModel unitChain(size_t stages, int64_t m) {
  PipelineModel model =
      chainModel(std::vector<double>(stages, 1), std::vector<double>(stages, 1),
                 std::vector<double>(stages - 1, 0), m);
  for (PipelineStage &stage : model.stages)
    stage.times.weightGradient = Seconds(1);
  return model;
}

// The two metrics: p = 8, m = 24, F = I = W = 1.
TEST(PipelineTimeline, SpanAndMakespanOfZeroBubble) {
  PipelineModel model = unitChain(8, 24);
  Result<PipelineTimeline> h1 = simulatePipeline(model, zeroBubble(8, 24, 1));
  Result<PipelineTimeline> h2 = simulatePipeline(model, zeroBubble(8, 24, 2));
  EXPECT_EQ(h1->makespan, Seconds(79));
  EXPECT_EQ(h1->span, Seconds(79));
  EXPECT_EQ(h2->makespan, Seconds(79));
  EXPECT_EQ(h2->span, Seconds(72));
  // Until W ends, ZB-H2 holds min(2p - 1, m) microbatches, ZB-H1 holds p.
  EXPECT_EQ(h1->peakInFlight, std::vector<int64_t>(8, 8));
  EXPECT_EQ(h2->peakInFlight, std::vector<int64_t>(8, 15));
}

// Without transfer times, the simulator of schedules gives the same times.
TEST(PipelineTimeline, SplitSchedulesAgreeWithSimulate) {
  std::mt19937 random(17);
  for (int round = 0; round < 300; ++round) {
    int64_t stages = int64_t(1 + random() % 5), m = int64_t(1 + random() % 9);
    PipelineModel model = randomChain(random, stages, m, false);
    Schedule schedule = zeroBubble(stages, m, 1 + round % 2);
    // Some microbatches have an unsplit backward, some recompute.
    for (Order &order : schedule.ranks) {
      Order mixed;
      for (Action action : order) {
        int64_t kind = action.microbatch % 3;
        if (kind == 0 && action.kind == ActionKind::WeightGradient)
          continue;
        if (kind == 0 && action.kind == ActionKind::InputGradient)
          action.kind = ActionKind::Backward;
        if (kind == 1 && action.kind == ActionKind::InputGradient)
          mixed.push_back(
              {ActionKind::Recompute, action.stage, action.microbatch});
        mixed.push_back(action);
      }
      order = mixed;
    }
    StepTimes times;
    for (const PipelineStage &stage : model.stages)
      times.stages.push_back(stage.times);
    Result<Timeline> expected =
        timeSchedule(schedule, chainGraph(stages, false), times);
    ASSERT_TRUE(expected);
    Result<PipelineTimeline> timeline = simulatePipeline(model, schedule);
    ASSERT_EQ(timeline->makespan, expected->makespan);
    for (size_t rank = 0; rank < expected->ranks.size(); ++rank) {
      const auto &blocks = timeline->processors[rank];
      ASSERT_EQ(blocks.size(), expected->ranks[rank].size());
      Seconds busy;
      for (const TimedAction &timed : expected->ranks[rank])
        busy += timed.end - timed.start;
      EXPECT_EQ(timeline->compute[rank], busy);
    }
    expectGapless(*timeline);
  }
}

TEST(PipelineTimeline, DeadlockNamesTheRanks) {
  PipelineModel model = unitChain(2, 2);
  Schedule schedule{
      "test",
      2,
      2,
      {parseOrder("0F0 0B0 0F1 0B1"), parseOrder("1F0 1F1 1B0 1B1")}};
  Result<PipelineTimeline> timeline = simulatePipeline(model, schedule);
  ASSERT_FALSE(timeline);
  EXPECT_EQ(timeline.error().message,
            "schedule deadlocks: rank 0 waits for 1B0 from rank 1, rank 1 "
            "waits for 0F1 from rank 0");
}

TEST(PipelineTimeline, WrongShapeIsAnError) {
  PipelineModel model = unitChain(2, 2);
  EXPECT_EQ(
      simulatePipeline(model, *generateGPipe({2, 3, false})).error().message,
      "the schedule is for 2 stages and 3 microbatches, the pipeline has "
      "2 and 2");
  Schedule schedule{"test", 1, 1, {parseOrder("0F0"), parseOrder("0B0")}};
  EXPECT_EQ(
      simulatePipeline(unitChain(1, 1), schedule).error().message,
      "rank 1 runs 0B0 of a microbatch that rank 0 keeps; run all of it on one "
      "rank");
}

TEST(PipelineTimeline, CriticalPathSaysWhatWasWaitedFor) {
  // Two stages, F = 1, B = 2, c = 1; K_A allows two in flight on stage 0.
  PipelineModel model = chainModel({1, 1}, {2, 2}, {1}, 3);
  model.stages[0].tail = Seconds(0.5);
  Result<PipelineTimeline> timeline =
      simulatePipeline(model, ExecutionOrder::CapA);
  std::string path;
  for (const CriticalBlock &critical : timeline->criticalPath)
    path += toString(critical.block, model) + " " + toString(critical.waited) +
            "; ";
  EXPECT_EQ(path, "0F0 nothing; 0>1F0 input; 1F0 input; 1B0 input; 1>0B0 "
                  "input; 0B0 input; 0F2 cap; 0>1F2 input; 1F2 input; 1B2 "
                  "input; 1>0B2 input; 0B2 input; 0 all-reduce input; ");
  EXPECT_EQ(timeline->makespan, Seconds(16.5));
  EXPECT_EQ(timeline->collectives.size(), 1u);
  EXPECT_EQ(timeline->bubbles[1], Seconds(16.5 - 9));
}

/// A chain in several pipelines side by side, pipeline k of which has the ranks
/// from k * stages on and, in some models, shares links with itself or others.
static PipelineModel sideBySideModel(std::mt19937 &random, size_t stages,
                                     size_t pipelines) {
  auto time = [&] { return Seconds(double(random() % 7)); };
  PipelineModel model;
  model.numProcessors = stages * pipelines;
  model.microbatches = int64_t(pipelines + random() % 9);
  size_t sharing = random() % 3; // None, each its own, all the same.
  model.numLinks = pipelines;
  for (size_t s = 0; s < stages; ++s) {
    PipelineStage stage{{time(), time(), time()}, time(), Seconds(), {}};
    for (size_t k = 0; k < pipelines; ++k)
      stage.processors.push_back(k * stages + s);
    model.stages.push_back(stage);
  }
  for (size_t s = 0; s + 1 < stages; ++s) {
    PipelineChannel channel;
    channel.from = s;
    channel.to = s + 1;
    channel.forward = time();
    channel.backward = time();
    for (size_t k = 0; k < pipelines; ++k) {
      channel.forwardLanes.push_back(model.numLinks++);
      channel.backwardLanes.push_back(model.numLinks++);
      if (sharing > 0)
        channel.forwardShared.push_back({sharing == 1 ? k : 0});
    }
    model.channels.push_back(channel);
  }
  model.ties.push_back({stages - 1, 0, time()});
  return model;
}

/// The order by 1F1B of stages whose replicas, `ranks`, take microbatches in
/// turn.
static Result<Schedule> inTurnBy1F1B(const PipelineModel &model,
                                     const ReplicaRanks &ranks) {
  ScheduleShape shape;
  shape.ranks = int64_t(ranks.size());
  shape.microbatches = model.microbatches;
  return generateInTurn(*findGenerator("1f1b"), shape, ranks);
}

TEST(PipelineTimeline, LinksThatDoNotExistAreErrors) {
  std::mt19937 random(5);
  PipelineModel model = sideBySideModel(random, 2, 2);
  model.microbatches = 4;
  model.channels[0].forwardLanes[1] = model.numLinks;
  ReplicaRanks ranks = {{0, 2}, {1, 3}};
  Result<Schedule> schedule = inTurnBy1F1B(model, ranks);
  ASSERT_TRUE(schedule) << schedule.error().message;
  Result<StepTime> time = stepTimeOf(model, *schedule, ranks);
  ASSERT_FALSE(time);
  EXPECT_EQ(time.error().message,
            simulatePipeline(model, *schedule).error().message);
}

// With 13,334 microbatches of 3 seconds a tick is ten times as long as with
// 13,333, see TickScale.
TEST(PipelineTimeline, PipelinesWithTicksOfTwoLengthsAreNotJoined) {
  PipelineModel model;
  model.numProcessors = 2;
  model.microbatches = 26667;
  model.stages.push_back(
      {{Seconds(1), Seconds(1), Seconds(0)}, Seconds(), Seconds(), {0, 1}});
  ReplicaRanks ranks = {{0, 1}};
  Result<Schedule> schedule = inTurnBy1F1B(model, ranks);
  ASSERT_TRUE(schedule) << schedule.error().message;
  Result<StepTime> time = stepTimeOf(model, *schedule, ranks);
  ASSERT_TRUE(time) << time.error().message;
  EXPECT_NEAR(time->makespan.value, 2 * 13334, 1e-6);
}

TEST(PipelineTimeline, PipelinesSideBySideAreTimedOnce) {
  const unsigned seed = 5;
  std::mt19937 random(seed);
  for (int round = 0; round < 600; ++round) {
    size_t stages = 1 + random() % 4, pipelines = 1 + random() % 4;
    PipelineModel model = sideBySideModel(random, stages, pipelines);
    ReplicaRanks ranks(stages);
    for (size_t s = 0; s < stages; ++s)
      for (size_t k = 0; k < pipelines; ++k)
        ranks[s].push_back(int64_t(k * stages + s));
    ScheduleShape shape;
    shape.ranks = int64_t(stages);
    shape.microbatches = model.microbatches;
    Result<Generator> generator =
        findGenerator(round % 2 == 0 ? "1f1b" : "zb-h1");
    Result<Schedule> schedule = pipelines == 1
                                    ? generator->generate(shape)
                                    : generateInTurn(*generator, shape, ranks);
    ASSERT_TRUE(schedule) << schedule.error().message;
    Result<PipelineTimeline> all = simulatePipeline(model, *schedule);
    Result<StepTime> time = stepTimeOf(model, *schedule, ranks);
    ASSERT_TRUE(all && time);
    EXPECT_EQ(time->makespan, all->makespan) << "round " << round;
    EXPECT_EQ(time->busiest,
              *std::max_element(all->compute.begin(), all->compute.end()));
  }
}
