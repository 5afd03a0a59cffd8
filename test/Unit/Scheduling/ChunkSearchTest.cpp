//===- ChunkSearchTest.cpp - orders of several chunks per rank ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/VPattern.h"
#include "Search/VRounds.h"
#include "ZbvCells.h"
#include "stagewright/Scheduling/AutoSchedule.h"
#include "stagewright/Scheduling/Verify.h"
#include "gtest/gtest.h"

using namespace stagewright;
using namespace stagewright::search;

static ScheduleProblem unitProblem(Placement placement, int64_t ranks,
                                   int64_t chunks, int64_t microbatches,
                                   double memory) {
  ScheduleProblem problem;
  problem.placement = placement;
  problem.ranks = ranks;
  problem.chunks = chunks;
  problem.microbatches = microbatches;
  problem.stages.assign(ranks * chunks,
                        {Seconds(1), Seconds(1), Seconds(1), 1, 1, 0});
  problem.hops.assign(ranks * chunks - 1, Seconds());
  problem.memory = memory;
  return problem;
}

/// The times of `orders`, by the simulator and not by what searched them.
static ScheduleTiming timed(const FastOrders &orders,
                            const ScheduleProblem &problem) {
  FastProblem fast = FastProblem::of(problem);
  Result<ScheduleTiming> timing =
      timeSchedule(decode(orders, fast, "test"), problem);
  EXPECT_TRUE(timing) << timing.error().message;
  if (!timing)
    return {};
  for (double peak : timing->peaks)
    EXPECT_LE(peak, problem.memory * (1 + 1e-9));
  return *timing;
}

/// All cells: the construction alone gives the published figure.
TEST(ChunkSearch, RoundsReachThePublishedTable) {
  for (const zbv::Limit &limit : zbv::kLimits)
    for (size_t r = 0; r < std::size(zbv::kRows); r += 3) {
      const zbv::Row &row = zbv::kRows[r];
      ScheduleProblem problem = zbv::problemOf(row, limit.memory);
      std::vector<FastOrders> found = buildByRounds(FastProblem::of(problem));
      ASSERT_FALSE(found.empty());
      double rate = zbv::bubbleRate(row, timed(found[0], problem).span);
      EXPECT_LE(rate, limit.rates[r] + 1e-4)
          << row.ranks << " ranks, memory " << limit.memory;
    }
}

TEST(ChunkSearch, PatternNeedsOneActivationPerRank) {
  // Every rank has the word F0 F1 I1 I0 W W: 2 p chunks are enough.
  for (int64_t ranks : {2, 4, 7}) {
    ScheduleProblem problem =
        unitProblem(Placement::V, ranks, 2, 4 * ranks, double(2 * ranks));
    FastProblem fast = FastProblem::of(problem);
    std::optional<WalkPlan> plan = layOutPattern(fast, {});
    ASSERT_TRUE(plan);
    ScheduleTiming timing = timed(plan->orders, problem);
    EXPECT_EQ(timing.peaks, std::vector<double>(ranks, 2.0 * double(ranks)));
    problem.memory -= 1;
    EXPECT_FALSE(layOutPattern(FastProblem::of(problem), {}));
  }
}

TEST(ChunkSearch, MirrorOfAMirrorIsTheOrder) {
  ScheduleProblem problem = unitProblem(Placement::V, 3, 2, 7, 9);
  FastProblem fast = FastProblem::of(problem);
  FastOrders orders = layOutPattern(fast, {})->orders;
  EXPECT_EQ(mirrorBack(mirrorBack(orders, fast), fast), orders);
}

TEST(ChunkSearch, WalksStayWithinMemoryInBothDirections) {
  ScheduleProblem problem = unitProblem(Placement::V, 4, 2, 12, 9);
  for (StageCosts &stage : problem.stages)
    stage.kept = 0.5;
  problem.hops.assign(7, Seconds(0.25));
  FastProblem fast = FastProblem::of(problem);
  WalkProblem there(fast, /*mirrored=*/false), back(fast, /*mirrored=*/true);
  Walk walk(there), mirrored(back);
  FastTimer timer(fast);
  WalkPlan plan = *layOutPattern(fast, {});
  for (double patience : {0.0, 0.5, 1.0})
    for (Ticks until : {Ticks(0), 20 * there.period / 6, kNever}) {
      WalkSettings settings;
      settings.patience = patience;
      FastOrders orders = walk.run(plan, settings, until);
      ScheduleTiming timing = timed(orders, problem);
      ASSERT_TRUE(timer.run(orders));
      EXPECT_EQ(fast.seconds(timer.span()), timing.span);
      timed(mirrorBack(
                mirrored.run(mirrorOf(orders, timer, fast), settings, until),
                fast),
            problem);
    }
}

TEST(ChunkSearch, MeetsZbvAtUnitCosts) {
  // schedules.md 1.4 and 1.3: ZB-V with p activations has no bubble in the span
  // and (p - 1) F / 2 in the makespan.
  for (int64_t ranks : {2, 4}) {
    ScheduleProblem problem =
        unitProblem(Placement::V, ranks, 2, 2 * ranks, double(2 * ranks));
    AutoScheduleOptions options;
    options.effort = 0.05;
    Result<AutoSchedule> found = findSchedule(problem, options);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_LE(found->timing.makespan.value, double(12 * ranks + ranks - 1));
    options.objective = ScheduleObjective::Span;
    found = findSchedule(problem, options);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_DOUBLE_EQ(found->timing.span.value, double(12 * ranks));
  }
}

TEST(ChunkSearch, TakesLoopsWavesAndUnequalStages) {
  for (Placement placement : {Placement::Loop, Placement::V})
    for (int64_t chunks : {2, 3, 4})
      for (bool split : {true, false})
        for (double memory : {double(chunks), 3.0 * double(chunks), 50.0}) {
          ScheduleProblem problem =
              unitProblem(placement, 3, chunks, 5, memory);
          for (size_t s = 0; s < problem.stages.size(); ++s) {
            problem.stages[s].forward = Seconds(1 + 0.25 * double(s % 3));
            problem.stages[s].kept = 0.25;
          }
          AutoScheduleOptions options;
          options.effort = 0.002;
          options.split = split;
          Result<AutoSchedule> found = findSchedule(problem, options);
          ASSERT_TRUE(found) << found.error().message;
          for (double peak : found->timing.peaks)
            EXPECT_LE(peak, memory * (1 + 1e-9));
        }
}
