//===- ExactTest.cpp - exact search for a schedule ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Golden values: optima found by CP-SAT, in the tables under Optima/.
//
//===----------------------------------------------------------------------===//

#include "Search/Chain/Exact.h"
#include "Optima.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace stagewright;
using namespace stagewright::search;

static Seconds boundOf(const ScheduleProblem &problem,
                       ScheduleObjective objective) {
  LowerBounds bounds = lowerBounds(problem);
  return objective == ScheduleObjective::Makespan ? bounds.makespan.value
                                                  : bounds.span.value;
}

/// The objective of the schedule found from an upper limit of three times the
/// optimum. The schedule must fit in memory and be proved optimal.
static double found(const OptimaRow &row, ScheduleObjective objective,
                    double optimum) {
  ExactResult result =
      exactSchedule(row.problem, objective, boundOf(row.problem, objective),
                    Seconds(3 * optimum), /*nodeLimit=*/100000);
  EXPECT_TRUE(result.proved) << row.text;
  if (!result.schedule)
    return 0;
  Result<Timeline> timing = timeSchedule(*result.schedule, row.problem);
  EXPECT_TRUE(bool(timing)) << row.text;
  for (double peak : timing->peaks)
    EXPECT_LE(peak, row.problem.memory) << row.text;
  return objective == ScheduleObjective::Makespan ? timing->makespan.value
                                                  : timing->span.value;
}

TEST(Exact, FindsTheOptima) {
  for (const char *table : {"random", "equal"})
    for (const OptimaRow &row : readOptima(table)) {
      EXPECT_EQ(found(row, ScheduleObjective::Span, *row.span), *row.span)
          << row.text;
      EXPECT_EQ(found(row, ScheduleObjective::Makespan, *row.makespan),
                *row.makespan)
          << row.text;
    }
}

/// In the table a rank may delay its first forward, to shorten the span. In a
/// schedule every action starts as soon as possible. In one row this costs 1 of
/// 77.
TEST(Exact, FindsTheOptimaOfUnequalStages) {
  int more = 0;
  for (const OptimaRow &row : readOptima("unequal")) {
    EXPECT_EQ(found(row, ScheduleObjective::Makespan, *row.makespan),
              *row.makespan)
        << row.text;
    double span = found(row, ScheduleObjective::Span, *row.span);
    EXPECT_GE(span, *row.span) << row.text;
    EXPECT_LE(span, *row.span + 1) << row.text;
    more += span > *row.span;
  }
  EXPECT_LE(more, 1);
}

TEST(Exact, FindsNothingBelowAnOptimum) {
  OptimaRow row = readOptima("random").front();
  ExactResult result =
      exactSchedule(row.problem, ScheduleObjective::Span, Seconds(1),
                    Seconds(*row.span), /*nodeLimit=*/100000);
  EXPECT_FALSE(result.schedule);
  EXPECT_TRUE(result.proved);
}

/// Without split backwards and with little memory, 1F1B is optimal.
TEST(Exact, KeepsBackwardsWhole) {
  ScheduleProblem problem;
  problem.ranks = 3;
  problem.microbatches = 6;
  problem.stages.assign(3, {Seconds(1), Seconds(1), Seconds(1), 1, 1, 0});
  problem.hops.assign(2, Seconds());
  problem.memory = 3;
  ExactResult result =
      exactSchedule(problem, ScheduleObjective::Makespan, Seconds(18),
                    Seconds(100), 1000, /*split=*/false);
  ASSERT_TRUE(result.schedule);
  EXPECT_TRUE(result.proved);
  EXPECT_EQ(timeSchedule(*result.schedule, problem)->makespan.value, 18 + 6);
  for (const Order &order : result.schedule->ranks)
    EXPECT_EQ(order.size(), 12u);
}
