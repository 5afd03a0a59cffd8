//===- AutoRandomTest.cpp - the scheduler on unequal stages ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Random.h"
#include "stagewright/Scheduling/AutoSchedule.h"
#include "stagewright/Scheduling/Memory.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace stagewright;

#ifdef STAGEWRIGHT_SANITIZED
static constexpr int kInstances = 50;
#else
static constexpr int kInstances = 1000;
#endif

static double between(search::Random &random, double low, double high) {
  return low + (high - low) * double(random.next() >> 11) * 0x1p-53;
}

/// p up to 8, m up to 32, a hop per edge, memory 1, 1.5 or 2 times p.
static ScheduleProblem randomProblem(uint64_t seed) {
  search::Random random{seed};
  ScheduleProblem problem;
  problem.ranks = 2 + random.below(7);
  problem.microbatches = 1 + random.below(32);
  double kept = between(random, 0.3, 0.95);
  problem.memory = double(problem.ranks) * (1 + 0.5 * random.below(3));
  for (int64_t s = 0; s < problem.ranks; ++s)
    problem.stages.push_back({Seconds(between(random, 0.5, 1.5)),
                              Seconds(between(random, 0.5, 1.5)),
                              Seconds(between(random, 0.5, 1.5)), 1, kept, 0});
  for (int64_t s = 0; s + 1 < problem.ranks; ++s)
    problem.hops.push_back(Seconds(between(random, 0, 0.3)));
  return problem;
}

static void checkGaps(ScheduleObjective objective, uint64_t seed, int count) {
  std::vector<double> gaps;
  int optimal = 0;
  for (int i = 0; i < count; ++i) {
    ScheduleProblem problem = randomProblem(seed + i);
    AutoScheduleOptions options;
    options.objective = objective;
    options.effort = 0.25;
    Result<AutoSchedule> found = findSchedule(problem, options);
    ASSERT_TRUE(found) << "seed " << seed + i;
    ASSERT_TRUE(verifyMemory(found->schedule, problem)) << "seed " << seed + i;
    bool span = objective == ScheduleObjective::Span;
    double value = (span ? found->timing.span : found->timing.makespan).value;
    double bound =
        (span ? found->bounds.span : found->bounds.makespan).value.value;
    ASSERT_GE(value, bound * (1 - 1e-9)) << "seed " << seed + i;
    optimal += found->optimal;
    if (problem.microbatches >= 4 * problem.ranks)
      gaps.push_back(value / bound - 1);
  }
  std::sort(gaps.begin(), gaps.end());
  ASSERT_FALSE(gaps.empty());
  std::printf("  seeds %lu to %lu: %d of %d optimal; m >= 4 p: median gap "
              "%.4f %%, largest %.3f %% of %zu\n",
              (unsigned long)seed, (unsigned long)(seed + count - 1), optimal,
              count, 100 * gaps[gaps.size() / 2], 100 * gaps.back(),
              gaps.size());
  EXPECT_LE(gaps[gaps.size() / 2], 0.02);
}

TEST(AutoRandom, UnequalStagesComeCloseToTheBoundInSpan) {
  checkGaps(ScheduleObjective::Span, 1, kInstances);
}

TEST(AutoRandom, UnequalStagesComeCloseToTheBoundInMakespan) {
  checkGaps(ScheduleObjective::Makespan, 5001, kInstances / 4);
}
