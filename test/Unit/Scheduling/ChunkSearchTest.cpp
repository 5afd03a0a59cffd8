//===- ChunkSearchTest.cpp - orders of several chunks per rank ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Random.h"
#include "Search/Chunks/VMoves.h"
#include "Search/Chunks/VPattern.h"
#include "Search/Chunks/VRounds.h"
#include "Search/WakeTimes.h"
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

/// The times of `orders` by the simulator, independent of the search.
static Timeline timed(const FastOrders &orders,
                      const ScheduleProblem &problem) {
  FastProblem fast = FastProblem::of(problem);
  Result<Timeline> timing = timeSchedule(decode(orders, fast, "test"), problem);
  EXPECT_TRUE(timing) << timing.error().message;
  if (!timing)
    return {};
  for (double peak : timing->peaks)
    EXPECT_LE(peak, problem.memory * (1 + 1e-9));
  return *timing;
}

/// In every tested cell the construction alone reaches the published rate.
TEST(ChunkSearch, RoundsReachThePublishedTable) {
  for (const zbv::Limit &limit : zbv::kLimits)
    for (size_t r = 0; r < std::size(zbv::kRows);
         r += stagewright::testing::kPart > 1 ? 8 : 3) {
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
  // Every rank repeats F0 F1 I1 I0 W W; memory for 2 p chunks is enough.
  for (int64_t ranks : {2, 4, 7}) {
    ScheduleProblem problem =
        unitProblem(Placement::V, ranks, 2, 4 * ranks, double(2 * ranks));
    FastProblem fast = FastProblem::of(problem);
    std::optional<WalkPlan> plan = layOutPattern(fast, {});
    ASSERT_TRUE(plan);
    Timeline timing = timed(plan->orders, problem);
    EXPECT_EQ(timing.peaks, std::vector<double>(ranks, 2.0 * double(ranks)));
    problem.memory -= 1;
    EXPECT_FALSE(layOutPattern(FastProblem::of(problem), {}));
  }
}

TEST(ChunkSearch, WalksStayWithinMemoryWhereverTheyStop) {
  ScheduleProblem problem = unitProblem(Placement::V, 4, 2, 12, 9);
  for (StageCosts &stage : problem.stages)
    stage.kept = 0.5;
  problem.hops.assign(7, Seconds(0.25));
  FastProblem fast = FastProblem::of(problem);
  WalkProblem walked(fast);
  Walk walk(walked);
  WalkPlan plan = *layOutPattern(fast, {});
  EXPECT_EQ(walk.run(plan, {}, 0), plan.orders);
  for (double patience : {0.0, 0.5, 1.0})
    for (Ticks periods : {1, 3, 5, 12, 100}) {
      WalkSettings settings;
      settings.patience = patience;
      timed(walk.run(plan, settings, periods * walked.period), problem);
    }
}

TEST(ChunkSearch, MovesAreTimedAsAWhole) {
  ScheduleProblem problem = zbv::problemOf({5, 17, 1.5, 1, 0.75, 0.25}, 1.2);
  FastProblem fast = FastProblem::of(problem);
  FastTimer timer(fast);
  MovableOrders state(fast, /*span=*/true, buildByRounds(fast).at(0));
  stagewright::testing::Draw draw(7);
  int64_t left = 0;
  int kept = 0, limited = 0;
  for (int n = 0; n < 4000; ++n) {
    int32_t rank = int32_t(draw.whole(0, 4));
    int32_t from = int32_t(draw.whole(0, state.length(rank) - 1));
    OrderMove move{rank, from, from + int32_t(draw.whole(-15, 15))};
    if (!state.allowed(move))
      continue;
    FastOrders before = state.get();
    Ticks value = state.value();
    bool free = n % 2 == 0;
    bool done = state.attempt(move, free ? kNever : value, left);
    bool runs = timer.run(state.get());
    for (const std::vector<Code> &order : state.get())
      EXPECT_LE(peakOf(order, fast), fast.memory);
    EXPECT_EQ(done, runs && (free || timer.span() <= value));
    if (done) {
      EXPECT_EQ(state.value(), timer.span());
    }
    limited += runs && !done;
    if (done && n % 3) {
      ++kept;
      state.keep();
      continue;
    }
    state.drop();
    EXPECT_EQ(state.get(), before);
    EXPECT_EQ(state.value(), value);
  }
  EXPECT_GT(kept, 50);
  EXPECT_GT(limited, 50);
}

TEST(ChunkSearch, BeatsThePublishedTable) {
  // ZbvSweepTest tests the whole table with its bounds.
  if (stagewright::testing::kPart > 1)
    GTEST_SKIP() << "a search takes long in this build";
  for (size_t limit : {1, 2}) {
    const zbv::Row &row = zbv::kRows[0];
    AutoScheduleOptions options;
    options.objective = ScheduleObjective::Span;
    options.effort = 0.1;
    Result<AutoSchedule> found =
        findSchedule(zbv::problemOf(row, zbv::kLimits[limit].memory), options);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_LT(zbv::bubbleRate(row, found->timing.span),
              zbv::kLimits[limit].rates[0] - 0.002);
  }
}

TEST(ChunkSearch, MeetsZbvAtUnitCosts) {
  // With memory for p activations, ZB-V has no bubble
  // in the span and one of (p - 1) F / 2 in the makespan.
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

TEST(ChunkSearch, EndsWhereHopsAreAllThereIs) {
  for (double work : {0.0, 1e-9}) {
    ScheduleProblem problem = unitProblem(Placement::V, 3, 2, 4, 2);
    for (StageCosts &stage : problem.stages)
      stage.forward = stage.inputGradient = stage.weightGradient =
          Seconds(work);
    problem.hops.assign(5, Seconds(100));
    AutoScheduleOptions options;
    options.effort = 0.001;
    Result<AutoSchedule> found = findSchedule(problem, options);
    ASSERT_TRUE(found) << found.error().message;
    // A microbatch takes four hops forward and four backward. With memory for
    // two chunks, rank 0 can start one when the previous has done half of that.
    EXPECT_NEAR(found->timing.makespan.value, 3 * 400 + 800, 1);
  }
}
