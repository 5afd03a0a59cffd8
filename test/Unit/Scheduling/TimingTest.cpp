//===- TimingTest.cpp - times and memory of a schedule --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Golden values: schedules at unit costs, as in GoldenGridTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Timing.h"
#include "stagewright/Scheduling/Generators.h"
#include "gtest/gtest.h"

using namespace stagewright;

static ScheduleProblem unitProblem(int64_t ranks, int64_t microbatches) {
  ScheduleProblem problem;
  problem.ranks = ranks;
  problem.microbatches = microbatches;
  problem.stages.assign(ranks, {Seconds(1), Seconds(1), Seconds(1), 1, 1, 0});
  problem.hops.assign(ranks - 1, Seconds());
  return problem;
}

TEST(Timing, OneFOneBOfTheGrid) {
  Timeline timing = *timeSchedule(*generateOneFOneB({4, 8}), unitProblem(4, 8));
  EXPECT_EQ(timing.makespan.value, 33);
  EXPECT_EQ(timing.span.value, 33);
  EXPECT_EQ(timing.peaks, (std::vector<double>{4, 3, 2, 1}));
  EXPECT_EQ(timing.work, std::vector<Seconds>(4, Seconds(24)));
}

// If times summed to infinity, bubbles would be undefined and bounds would be
// above the result.
TEST(Timing, HugeCostsAreErrors) {
  ScheduleProblem problem = unitProblem(2, 2);
  problem.stages[1].forward = Seconds(1e308);
  EXPECT_EQ(problem.check().error().message,
            "stage 1: times must be from 0 to 1e100, but one is 1e+308; take a "
            "larger unit");
  problem = unitProblem(2, 2);
  problem.hops[0] = Seconds(1e300);
  EXPECT_EQ(problem.check().error().message,
            "the hop after stage 0 must be from 0 to 1e100, but is 1e+300; "
            "take a larger unit");
  problem = unitProblem(2, 2);
  problem.stages[0].activation = 1e101;
  EXPECT_EQ(problem.check().error().message,
            "stage 0: amounts of memory must be from 0 to 1e100, but one is "
            "1e+101; take a larger unit");
  problem.stages[0].activation = 1e100;
  EXPECT_TRUE(problem.check().ok());
}
