//===- AutoScheduleTest.cpp - a schedule by search ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Golden values: the optima of OptimaTest.cpp at unit costs.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/AutoSchedule.h"
#include "Search/Best.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/Memory.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace stagewright;

static ScheduleProblem unitProblem(int64_t ranks, int64_t microbatches,
                                   double memory, int64_t chunks = 1) {
  ScheduleProblem problem;
  problem.ranks = ranks;
  problem.chunks = chunks;
  problem.microbatches = microbatches;
  double share = 1.0 / double(chunks);
  Seconds time(share);
  problem.stages.assign(ranks * chunks,
                        {time, time, time, share, 0.5 * share, 0});
  problem.hops.assign(ranks * chunks - 1, Seconds());
  problem.memory = memory;
  return problem;
}

TEST(AutoSchedule, MeetsTheOptimumAtUnitCosts) {
  struct Row {
    int64_t ranks, microbatches;
    double memory, span, makespan;
  };
  for (Row row : {Row{2, 4, 1, 20, 20},
                  {2, 4, 2, 13, 13},
                  {2, 4, 3, 12, 13},
                  {2, 4, 4, 12, 13},
                  {3, 6, 4, 19, 20},
                  {3, 6, 6, 18, 20},
                  {4, 8, 4, 27, 27},
                  {4, 8, 8, 24, 27}}) {
    ScheduleProblem problem =
        unitProblem(row.ranks, row.microbatches, row.memory);
    AutoScheduleOptions options;
    Result<AutoSchedule> found = findSchedule(problem, options);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_DOUBLE_EQ(found->timing.makespan.value, row.makespan)
        << row.ranks << " ranks, memory " << row.memory;
    options.objective = ScheduleObjective::Span;
    found = findSchedule(problem, options);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_DOUBLE_EQ(found->timing.span.value, row.span)
        << row.ranks << " ranks, memory " << row.memory;
  }
}

TEST(AutoSchedule, RunsNeighboursAsOneStage) {
  Result<AutoSchedule> one = findSchedule(unitProblem(3, 6, 4));
  Result<AutoSchedule> two = findSchedule(unitProblem(3, 6, 4, 2));
  ASSERT_TRUE(one && two);
  EXPECT_NEAR(two->timing.makespan.value, one->timing.makespan.value, 1e-9);
  EXPECT_EQ(two->schedule.stages, 6);
  for (double peak : two->timing.peaks)
    EXPECT_LE(peak, 4 + 1e-9);
}

TEST(AutoSchedule, SaysWhatMemoryWouldDo) {
  Result<AutoSchedule> found = findSchedule(unitProblem(2, 4, 0.75));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message,
            "no order fits a memory of 0.75: rank 0 holds 1 for one "
            "microbatch, 0.25 too much; the smallest limit that would do is 1");
}

TEST(AutoSchedule, NeverSplitsWhatMustStayWhole) {
  AutoScheduleOptions options;
  options.split = false;
  Result<AutoSchedule> found = findSchedule(unitProblem(4, 8, 4), options);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->timing.makespan.value, 33); // as 1F1B
  EXPECT_EQ(found->optimality, Optimality::Proved);
  for (const Order &order : found->schedule.ranks)
    for (const Action &action : order)
      EXPECT_TRUE(action.kind == ActionKind::Forward ||
                  action.kind == ActionKind::Backward);
}

TEST(AutoSchedule, TriesEveryPlacement) {
  Result<std::vector<AutoSchedule>> found =
      findScheduleAnyPlacement(unitProblem(2, 4, 4, 2));
  ASSERT_TRUE(found);
  for (size_t i = 1; i < found->size(); ++i)
    EXPECT_LE((*found)[i - 1].timing.makespan, (*found)[i].timing.makespan);
  // Here V and loop placement have equal makespans; only V has no bubble in the
  // span.
  found = findScheduleAnyPlacement(unitProblem(4, 8, 8, 2));
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)[0].placement, Placement::V);
  EXPECT_EQ((*found)[0].timing.makespan, (*found)[1].timing.makespan);
}

TEST(AutoSchedule, RunsForwardsOnly) {
  ScheduleProblem problem = unitProblem(3, 5, 1);
  problem.forwardOnly = true;
  Result<AutoSchedule> found = findSchedule(problem);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->timing.makespan.value, 7);
}

/// The number of recomputations (R) on all ranks.
static int64_t countRecompute(const Schedule &schedule) {
  int64_t count = 0;
  for (const Order &order : schedule.ranks)
    for (const Action &action : order)
      count += action.kind == ActionKind::Recompute;
  return count;
}

TEST(AutoSchedule, RunsForwardsAgainWhereMemoryAsksForIt) {
  for (bool split : {false, true}) {
    ScheduleProblem problem = unitProblem(4, 8, 2);
    for (StageCosts &stage : problem.stages)
      stage.recomputeInput = 0.125;
    AutoScheduleOptions options;
    options.split = split;
    Result<AutoSchedule> without = findSchedule(problem, options);
    options.recompute = true;
    Result<AutoSchedule> with = findSchedule(problem, options);
    ASSERT_TRUE(without && with);
    EXPECT_GT(countRecompute(with->schedule), 0);
    EXPECT_LT(with->timing.makespan, without->timing.makespan);
    EXPECT_GE(with->timing.makespan, with->bounds.makespan.value);
    EXPECT_TRUE(verifyMemory(with->schedule, problem));
    // With enough memory for 1F1B or ZB-H1, R is not needed.
    problem.memory = 4;
    with = findSchedule(problem, options);
    ASSERT_TRUE(with);
    EXPECT_EQ(countRecompute(with->schedule), 0);
  }
}

TEST(AutoSchedule, RecomputationNeedsLessMemoryForSeveralChunks) {
  ScheduleProblem problem = unitProblem(2, 3, 0.625, 2);
  for (StageCosts &stage : problem.stages)
    stage.recomputeInput = 0.125;
  AutoScheduleOptions options;
  Result<AutoSchedule> found = findSchedule(problem, options);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message,
            "no order fits a memory of 0.625: rank 0 holds 1 for one "
            "microbatch, 0.375 too much; the smallest limit that would do is "
            "1, or 0.625 if forwards may run again");
  options.recompute = true;
  for (Placement placement :
       {Placement::Linear, Placement::Loop, Placement::V}) {
    problem.placement = placement;
    problem.memory = 0.625;
    found = findSchedule(problem, options);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_TRUE(verifyMemory(found->schedule, problem));
    problem.memory = 0.5;
    found = findSchedule(problem, options);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message,
              "no order fits a memory of 0.5: rank 0 holds 0.625 for one "
              "microbatch, 0.125 too much; the smallest limit that would do "
              "is 0.625, or 1 if none runs again");
  }
}

TEST(AutoSchedule, GivesTheSameEveryTime) {
  ScheduleProblem problem = unitProblem(4, 9, 5);
  for (size_t s = 0; s < problem.stages.size(); ++s)
    problem.stages[s].forward = Seconds(0.7 + 0.13 * double(s));
  problem.hops.assign(3, Seconds(0.21));
  std::vector<Seconds> told;
  AutoScheduleOptions options;
  options.objective = ScheduleObjective::Span;
  options.progress = [&](Seconds best, Seconds bound) {
    EXPECT_GE(best.value, bound.value * (1 - 1e-9));
    told.push_back(best);
  };
  Result<AutoSchedule> first = findSchedule(problem, options);
  EXPECT_TRUE(std::is_sorted(told.rbegin(), told.rend()));
  std::vector<Seconds> before = std::move(told);
  told.clear();
  Result<AutoSchedule> second = findSchedule(problem, options);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->schedule, second->schedule);
  EXPECT_EQ(before, told);
}

TEST(AutoSchedule, CountsWhereAnOrderDoesNotRepeat) {
  // F F F F B B B B with two actions per microbatch: the first two B differ
  // from the actions two places earlier.
  EXPECT_EQ(search::irregularityOf(*findGenerator("gpipe")->generate({1, 4})),
            2);
  // An order that repeats one body has the same irregularity for any number of
  // microbatches.
  EXPECT_EQ(search::irregularityOf(*findGenerator("1f1b")->generate({4, 16})),
            search::irregularityOf(*findGenerator("1f1b")->generate({4, 64})));
}

TEST(AutoSchedule, PrefersTheMoreRegularOfEqualOrders) {
  ScheduleProblem problem = unitProblem(1, 4, 4);
  LowerBounds bounds = lowerBoundsWithoutSplit(problem);
  AutoScheduleOptions options;
  search::Best best(problem, bounds, options);
  Schedule once = *findGenerator("gpipe")->generate({1, 4});
  Schedule alternating = *findGenerator("1f1b")->generate({1, 4});
  EXPECT_TRUE(best.offer(once, "gpipe"));
  EXPECT_TRUE(best.offer(alternating, "1f1b"));
  EXPECT_FALSE(best.offer(once, "gpipe"));
}
