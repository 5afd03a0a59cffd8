//===- RandomTimingTest.cpp - times of random orders and costs ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares timeSchedule() with the naive simulator (Naive.h) for schedules of
// every generator with random costs, hops, overlap, recomputation and swaps.
//
//===----------------------------------------------------------------------===//

#include "Naive.h"
#include "stagewright/Scheduling/Memory.h"
#include "stagewright/Scheduling/Timing.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace stagewright;
using namespace stagewright::testing;

TEST(RandomTiming, TimesAreThoseOfTheNaiveSimulator) {
  Draw draw(77);
  int64_t finished = 0;
  for (const Sample &sample : sampleSchedules())
    for (uint64_t i = 0; i < 100 / kPart; ++i) {
      ScheduleProblem problem = sample.problem;
      drawCosts(problem, draw);
      problem.overlap = draw.chance(0.5) ? draw.real(0.5, 1) : 0;
      Schedule schedule = sample.schedule;
      if (draw.chance(0.5))
        recomputeSome(schedule, draw);
      for (int64_t swaps = draw.whole(0, 3); swaps > 0; --swaps) {
        Order &order = schedule.ranks[draw.whole(0, schedule.ranks.size() - 1)];
        size_t at = draw.whole(0, order.size() - 1);
        if (at + 1 < order.size() && !order[at].paired &&
            !order[at + 1].paired &&
            (at + 2 == order.size() || !order[at + 2].paired))
          std::swap(order[at], order[at + 1]);
      }
      Result<Timeline> timing = timeSchedule(schedule, problem);
      std::optional<NaiveTiming> naive = runNaively(schedule, problem);
      ASSERT_EQ(timing.ok(), naive.has_value())
          << sample.name << " " << i << ": "
          << (timing ? "" : timing.error().message);
      if (!timing)
        continue;
      ++finished;
      EXPECT_NEAR(timing->makespan.value, naive->makespan, 1e-9) << sample.name;
      EXPECT_NEAR(timing->span.value, naive->span, 1e-9) << sample.name;
      // The max peak is the smallest limit that is accepted.
      problem.memory =
          *std::max_element(naive->peaks.begin(), naive->peaks.end());
      EXPECT_TRUE(verifyMemory(schedule, problem)) << sample.name;
      problem.memory *= 1 - 1e-6;
      EXPECT_FALSE(verifyMemory(schedule, problem)) << sample.name;
      for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
        EXPECT_NEAR(timing->peaks[rank], naive->peaks[rank], 1e-9)
            << sample.name;
        ASSERT_EQ(timing->ranks[rank].size(), naive->times[rank].size());
        double work = 0;
        for (size_t step = 0; step < timing->ranks[rank].size(); ++step) {
          auto [action, start, end] = timing->ranks[rank][step];
          EXPECT_NEAR(start.value, naive->times[rank][step].first, 1e-9);
          EXPECT_NEAR(end.value, naive->times[rank][step].second, 1e-9);
          bool together = problem.overlap > 0 && step > 0 &&
                          schedule.ranks[rank][step].paired;
          work += together ? 0 : end.value - start.value;
        }
        EXPECT_NEAR(timing->work[rank].value, work, 1e-9) << sample.name;
      }
    }
  EXPECT_GT(finished, int64_t(3000 / kPart));
}
