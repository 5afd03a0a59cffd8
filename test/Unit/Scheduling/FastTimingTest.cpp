//===- FastTimingTest.cpp - times of many orders of one problem -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/FastTiming.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/Timing.h"
#include "gtest/gtest.h"

using namespace stagewright;
using namespace stagewright::search;

static ScheduleProblem unequalProblem(int64_t ranks, int64_t microbatches) {
  ScheduleProblem problem;
  problem.ranks = ranks;
  problem.microbatches = microbatches;
  for (int64_t s = 0; s < ranks; ++s)
    problem.stages.push_back({Seconds(1 + 0.25 * double(s % 3)),
                              Seconds(1.5 - 0.125 * double(s % 4)),
                              Seconds(0.75), 2, 1, 0});
  problem.hops.assign(ranks - 1, Seconds(0.125));
  return problem;
}

TEST(FastTiming, AgreesWithTimeSchedule) {
  for (const Generator &generator : allGenerators()) {
    if (generator.leastChunks > 1 || generator.placement == Placement::Twin ||
        generator.name == std::string("forward-only"))
      continue;
    ScheduleProblem problem = unequalProblem(4, 8);
    Result<Schedule> schedule = generator.generate({4, 8});
    ASSERT_TRUE(schedule) << generator.name;
    FastProblem fast = FastProblem::of(problem);
    FastTimer timer(fast);
    FastOrders orders = encode(*schedule, fast);
    ASSERT_TRUE(timer.run(orders)) << generator.name;
    Timeline timing = *timeSchedule(decode(orders, fast, "split"), problem);
    EXPECT_EQ(fast.seconds(timer.makespan()), timing.makespan);
    EXPECT_EQ(fast.seconds(timer.span()), timing.span);
  }
}

TEST(FastTiming, WholeBackwardsTakeBothTimes) {
  ScheduleProblem problem = unequalProblem(4, 8);
  FastProblem fast = FastProblem::of(problem, /*split=*/false);
  FastTimer timer(fast);
  Schedule schedule = *generateOneFOneB({4, 8});
  FastOrders orders = encode(schedule, fast);
  ASSERT_TRUE(timer.run(orders));
  Timeline timing = *timeSchedule(schedule, problem);
  EXPECT_EQ(fast.seconds(timer.makespan()), timing.makespan);
  EXPECT_EQ(decode(orders, fast, schedule.kind), schedule);
}

TEST(FastTiming, PeaksDecideWhatFits) {
  ScheduleProblem problem = unequalProblem(4, 8);
  Schedule schedule = *generateOneFOneB({4, 8}); // Peaks of 4, 3, 2 and 1.
  problem.memory = 8;
  FastProblem fast = FastProblem::of(problem);
  EXPECT_LE(peakOf(encode(schedule, fast)[0], fast), fast.memory);
  problem.memory = 7.9;
  fast = FastProblem::of(problem);
  EXPECT_GT(peakOf(encode(schedule, fast)[0], fast), fast.memory);
}

TEST(FastTiming, FindsDeadlocks) {
  ScheduleProblem problem = unequalProblem(2, 2);
  FastProblem fast = FastProblem::of(problem, /*split=*/false);
  FastTimer timer(fast);
  // Rank 0 waits for the gradient of microbatch 0, rank 1 for forward 1.
  EXPECT_FALSE(timer.run({{fast.code(0, F, 0), fast.code(0, I, 0),
                           fast.code(0, F, 1), fast.code(0, I, 1)},
                          {fast.code(1, F, 0), fast.code(1, F, 1),
                           fast.code(1, I, 0), fast.code(1, I, 1)}}));
}
