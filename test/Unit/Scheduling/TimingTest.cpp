//===- TimingTest.cpp - times and memory of a schedule --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Golden values: the unit-cost grid of schedules.md 1.4.
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
  ScheduleTiming timing =
      *timeSchedule(*generateOneFOneB({4, 8}), unitProblem(4, 8));
  EXPECT_EQ(timing.makespan.value, 33);
  EXPECT_EQ(timing.span.value, 33);
  EXPECT_EQ(timing.peaks, (std::vector<double>{4, 3, 2, 1}));
  EXPECT_DOUBLE_EQ(timing.bubbleRate(timing.makespan), 9. / 33);
}
