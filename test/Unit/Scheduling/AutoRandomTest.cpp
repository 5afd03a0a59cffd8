//===- AutoRandomTest.cpp - the scheduler on unequal stages ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Random.h"
#include "stagewright/Scheduling/AutoSchedule.h"
#include "stagewright/Scheduling/Memory.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cstdio>

using namespace stagewright;

static constexpr int kInstances = 1000 / int(stagewright::testing::kPart);

/// 2 to 8 ranks p, up to 32 microbatches, a hop per edge, and memory for 1, 1.5
/// or 2 times p activations.
static ScheduleProblem randomProblem(uint64_t seed) {
  stagewright::testing::Draw draw(seed);
  ScheduleProblem problem;
  problem.ranks = draw.whole(2, 8);
  problem.microbatches = draw.whole(1, 32);
  double kept = draw.real(0.3, 0.95);
  problem.memory = double(problem.ranks) * (1 + 0.5 * double(draw.whole(0, 2)));
  auto time = [&](double low, double high) {
    return Seconds(draw.real(low, high));
  };
  for (int64_t s = 0; s < problem.ranks; ++s) {
    Seconds forward = time(0.5, 1.5), input = time(0.5, 1.5);
    problem.stages.push_back({forward, input, time(0.5, 1.5), 1, kept, 0});
  }
  for (int64_t s = 0; s + 1 < problem.ranks; ++s)
    problem.hops.push_back(time(0, 0.3));
  return problem;
}

static void checkGaps(ScheduleObjective objective, uint64_t seed, int count) {
  std::vector<double> gaps;
  int optimal = 0;
  for (int i = 0; i < count; ++i) {
    ScheduleProblem problem = randomProblem(seed + i);
    AutoScheduleOptions options;
    options.objective = objective;
    options.effort = 0.1;
    Result<AutoSchedule> found = findSchedule(problem, options);
    ASSERT_TRUE(found) << "seed " << seed + i;
    ASSERT_TRUE(verifyMemory(found->schedule, problem)) << "seed " << seed + i;
    bool span = objective == ScheduleObjective::Span;
    double value = (span ? found->timing.span : found->timing.makespan).value;
    double bound =
        (span ? found->bounds.span : found->bounds.makespan).value.value;
    ASSERT_GE(value, bound * (1 - 1e-9)) << "seed " << seed + i;
    optimal += found->optimality != Optimality::Unknown;
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
