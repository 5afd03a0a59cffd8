//===- LowerBoundsTest.cpp - lower bounds of schedules --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Golden values: published bubble rates and bounds, and closed forms.
// OptimaTest.cpp compares bounds with exact optima.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/LowerBounds.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/Timing.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace stagewright;

/// Equal stages on a chain; memory for `share` times p activations.
static ScheduleProblem equalStages(int64_t ranks, int64_t microbatches,
                                   const StageCosts &costs, double hop,
                                   double share) {
  ScheduleProblem problem;
  problem.ranks = ranks;
  problem.microbatches = microbatches;
  problem.stages.assign(ranks, costs);
  problem.hops.assign(ranks - 1, Seconds(hop));
  problem.memory = share * double(ranks) * costs.activation;
  return problem;
}

static double rate(const ScheduleProblem &problem) {
  double span = lowerBounds(problem).span.value.value;
  double work =
      double(problem.microbatches) * problem.stages.front().total().value;
  return std::round((span - work) / span * 1e4) / 1e4;
}

/// A row of the zero-bubble paper (ICLR 2024): attention not fused, sequences
/// of 1024.
static ScheduleProblem paperRow(int64_t ranks, int64_t microbatches, double f,
                                double i, double w, double hop, double hidden,
                                double heads, double share) {
  return equalStages(ranks, microbatches,
                     {Seconds(f), Seconds(i), Seconds(w),
                      34 * hidden + 5 * heads * 1024, 32 * hidden, 0},
                     hop, share);
}

TEST(LowerBounds, RatesOfOneMemoryAreThoseOfZeroBubbleOne) {
  auto row = [](auto... numbers) { return rate(paperRow(numbers..., 1.)); };
  EXPECT_EQ(row(8, 24, 18.522, 18.086, 9.337, 0.601, 2304., 24.), .1585);
  EXPECT_EQ(row(8, 32, 18.513, 18.086, 9.331, 0.626, 2304., 24.), .1242);
  EXPECT_EQ(row(8, 64, 18.546, 18.097, 9.321, 0.762, 2304., 24.), .0674);
  EXPECT_EQ(row(8, 24, 29.718, 29.444, 19.927, 0.527, 4096., 32.), .1323);
  EXPECT_EQ(row(8, 32, 29.802, 29.428, 19.530, 0.577, 4096., 32.), .1045);
  EXPECT_EQ(row(8, 64, 29.935, 29.621, 19.388, 0.535, 4096., 32.), .0554);
  EXPECT_EQ(row(32, 96, 10.419, 10.207, 7.715, 0.408, 6144., 48.), .1421);
  EXPECT_EQ(row(32, 128, 10.408, 10.204, 7.703, 0.408, 6144., 48.), .1106);
  EXPECT_EQ(row(32, 256, 10.402, 10.248, 7.698, 0.460, 6144., 48.), .0594);
}

TEST(LowerBounds, RatesOfMoreMemory) {
  auto at = [](double share) {
    return rate(paperRow(8, 24, 18.522, 18.086, 9.337, 0.601, 2304, 24, share));
  };
  EXPECT_EQ(at(1.25), .0951);
  EXPECT_EQ(at(1.5), .0524);
  EXPECT_EQ(at(1.75), .0433);
  EXPECT_EQ(at(2), .0433);
}

TEST(LowerBounds, NameWhatSetsThem) {
  LowerBounds bounds =
      lowerBounds(paperRow(8, 24, 18.522, 18.086, 9.337, 0.601, 2304, 24, 1));
  EXPECT_EQ(bounds.span.reason, "fill and drain");
  EXPECT_EQ(bounds.span.rank, 0);
  EXPECT_EQ(bounds.makespan.reason, "fill and drain");
}

/// The optimal bubble at equal unit costs with memory for k
/// activations is max(0, 2p - 1 - k) for p <= k.
TEST(LowerBounds, EqualUnitCosts) {
  for (int64_t p = 2; p <= 8; ++p)
    for (int64_t k = p; k <= 2 * p; ++k) {
      ScheduleProblem problem =
          equalStages(p, 2 * p, {Seconds(1), Seconds(1), Seconds(1), 1, 1, 0},
                      0, double(k) / double(p));
      LowerBounds bounds = lowerBounds(problem);
      EXPECT_EQ(bounds.span.value.value,
                double(6 * p + std::max<int64_t>(0, 2 * p - 1 - k)));
      EXPECT_EQ(bounds.makespan.value.value, double(7 * p - 1));
    }
}

/// Without split backwards 1F1B is optimal, with a bubble of
/// (p - 1)(F + B).
TEST(LowerBounds, WithoutSplitMeetOneFOneB) {
  for (int64_t p = 1; p <= 8; ++p) {
    ScheduleProblem problem = equalStages(
        p, 3 * p, {Seconds(2), Seconds(3), Seconds(1), 1, 1, 0}, 0, 1);
    LowerBounds bounds = lowerBoundsWithoutSplit(problem);
    EXPECT_EQ(bounds.span.value.value, double(18 * p + 6 * (p - 1)));
    EXPECT_EQ(bounds.makespan.value.value, double(18 * p + 6 * (p - 1)));
  }
}

TEST(LowerBounds, ForwardsOnlyFillAPipeline) {
  ScheduleProblem problem =
      equalStages(3, 5, {Seconds(2), Seconds(3), Seconds(1), 1, 1, 0}, 0.5, 1);
  problem.forwardOnly = true;
  EXPECT_EQ(lowerBounds(problem).makespan.value.value, 2 * 7 + 2 * 0.5);
  EXPECT_EQ(lowerBounds(problem).span.value.value, 10);
}

/// Pairs that overlap take less time, so m T is no longer a lower bound, but
/// `overlap` times m T is.
TEST(LowerBounds, HoldForPairsThatOverlap) {
  for (double overlap : {0.5, 0.7, 0.9, 1.})
    for (int64_t p : {2, 4, 8})
      for (int64_t m : {2 * p, 2 * p + 4}) {
        // Two chunks per rank.
        ScheduleProblem v = equalStages(
            p, m, {Seconds(.5), Seconds(.5), Seconds(.5), 1, 1, 0}, 0, 10);
        v.placement = Placement::V;
        v.chunks = 2;
        v.stages.resize(2 * p, v.stages[0]);
        v.hops.resize(2 * p - 1);
        ScheduleProblem twin = equalStages(
            p, m, {Seconds(1), Seconds(1), Seconds(1), 1, 1, 0}, 0, 10);
        twin.placement = Placement::Twin;
        for (auto [problem, schedule] :
             {std::pair(&v, generateDualPipeV({p, m, false, 2})),
              std::pair(&twin, generateDualPipe({p, m}))}) {
          ASSERT_TRUE(bool(schedule)) << schedule.error().message;
          problem->overlap = overlap;
          Result<Timeline> timing = timeSchedule(*schedule, *problem);
          ASSERT_TRUE(bool(timing)) << timing.error().message;
          LowerBounds bounds = lowerBounds(*problem);
          EXPECT_LE(bounds.makespan.value, timing->makespan);
          EXPECT_LE(bounds.span.value, timing->span);
          double work = overlap * 3 * double(m);
          EXPECT_GE(bounds.span.value.value, work * (1 - 1e-12));
        }
      }
}

/// The first forward and the last backward of a rank are in no pair.
TEST(LowerBounds, CountWhatIsInNoPair) {
  ScheduleProblem problem =
      equalStages(1, 10, {Seconds(2), Seconds(3), Seconds(1), 1, 1, 0}, 0, 10);
  problem.overlap = 0.5;
  EXPECT_EQ(lowerBounds(problem).span.value.value, 30 + 0.5 * (2 + 3));
}
