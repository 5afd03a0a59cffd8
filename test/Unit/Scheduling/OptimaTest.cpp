//===- OptimaTest.cpp - bounds compared with exact optima -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Golden values: optima found by CP-SAT, in the tables under Optima/.
//
//===----------------------------------------------------------------------===//

#include "Optima.h"
#include "Bounds/Counting.h"
#include "stagewright/Scheduling/AutoSchedule.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <iostream>

using namespace stagewright;

namespace {

/// How often a bound was below and at an optimum; fails if it is above.
struct Tally {
  int below = 0, met = 0;

  void add(const LowerBound &bound, std::optional<double> optimum,
           const OptimaRow &row) {
    if (!optimum)
      return;
    double gap = *optimum - bound.value.value;
    EXPECT_GE(gap, -1e-6) << bound.reason << ": " << row.text;
    ++(gap > 1e-6 ? below : met);
  }
};

} // namespace

/// The optimum among all orders if proved, else that among first-in-first-out
/// orders.
static std::optional<double> best(std::optional<double> all,
                                  std::optional<double> fewer) {
  return all ? all : fewer;
}

/// Checks that no bound of a table is above an optimum; returns {span,
/// makespan}.
static std::pair<Tally, Tally> compare(const std::string &table) {
  Tally span, makespan;
  for (const OptimaRow &row : readOptima(table)) {
    LowerBounds bounds = lowerBounds(row.problem);
    span.add(bounds.span, best(row.spanAny, row.span), row);
    makespan.add(bounds.makespan, best(row.makespanAny, row.makespan), row);
  }
  for (auto [name, tally] : {std::pair("span", span), {"makespan", makespan}})
    std::cout << table << ", " << name << ": " << tally.met << " of "
              << tally.met + tally.below << " bounds are met\n";
  return {span, makespan};
}

TEST(Optima, BoundsOfEqualStagesHold) {
  auto [span, makespan] = compare("random");
  EXPECT_EQ(span.met, 24);
  EXPECT_EQ(makespan.met, 24);
}

TEST(Optima, BoundsOfUnequalStagesHold) {
  auto [span, makespan] = compare("unequal");
  EXPECT_GE(span.met, 59);
  EXPECT_EQ(makespan.met, 60);
}

TEST(Optima, BoundsOfNewEqualStagesHold) {
  auto [span, makespan] = compare("equal");
  EXPECT_LE(span.below, 1);
  EXPECT_LE(makespan.below, 1);
}

/// For several chunks there are only closed forms, no bounds by counting.
TEST(Optima, BoundsOfVPlacementHold) {
  auto [span, makespan] = compare("v");
  EXPECT_GE(span.met, 15);
  EXPECT_GE(makespan.met, 20);
}

/// For linear placement, first-in-first-out orders and both objectives.
TEST(Optima, SchedulesAreOptimal) {
  int met = 0;
  for (const char *table : {"random", "equal"})
    for (const OptimaRow &row : readOptima(table))
      for (auto objective :
           {ScheduleObjective::Span, ScheduleObjective::Makespan}) {
        bool spans = objective == ScheduleObjective::Span;
        AutoScheduleOptions options;
        options.objective = objective;
        Result<AutoSchedule> found = findSchedule(row.problem, options);
        ASSERT_TRUE(bool(found)) << row.text;
        double value =
            spans ? found->timing.span.value : found->timing.makespan.value;
        const LowerBound &bound =
            spans ? found->bounds.span : found->bounds.makespan;
        bool isMet = value <= bound.value.value * (1 + 1e-9);
        EXPECT_EQ(found->optimality,
                  isMet ? Optimality::Proved : Optimality::FirstInFirstOut)
            << row.text;
        met += isMet;
        EXPECT_EQ(value, spans ? *row.span : *row.makespan) << row.text;
      }
  EXPECT_GT(met, 0);
}

/// The one row of "equal" whose optimum is above the lower bound.
TEST(Optima, ExhaustedSearchProvesLessThanTheBound) {
  OptimaRow row = readRow("linear 3 1 7 7 | 2 | 3 | 3 | 3 | 1 | 0 | 68 68 - -");
  Result<AutoSchedule> found = findSchedule(row.problem, {});
  ASSERT_TRUE(bool(found));
  EXPECT_GT(found->timing.makespan.value, found->bounds.makespan.value.value);
  EXPECT_EQ(found->timing.makespan.value, *row.makespan);
  EXPECT_EQ(found->optimality, Optimality::FirstInFirstOut);
}

/// In every row where both optima are known, first in, first out per stage and
/// kind costs nothing.
TEST(Optima, FirstInFirstOutIsNoLoss) {
  for (const char *table : {"random", "equal", "unequal", "v"})
    for (const OptimaRow &row : readOptima(table)) {
      if (row.spanAny) {
        EXPECT_EQ(*row.spanAny, *row.span) << row.text;
      }
      if (row.makespanAny) {
        EXPECT_EQ(*row.makespanAny, *row.makespan) << row.text;
      }
    }
}

/// Whether counting proves that no schedule takes at most `value`: from the
/// first start of `rank` (`makespan`: of any rank) to the last end.
static bool refuted(const OptimaRow &row, int64_t rank, bool makespan,
                    double value) {
  bounds::Chain chain(row.problem);
  return !bounds::Counting(chain, {rank, rank, makespan}, value).narrow(12);
}

TEST(Optima, CountingRefutesWhatIsBelow) {
  for (const OptimaRow &row : readOptima("random")) {
    EXPECT_TRUE(refuted(row, 0, true, *row.makespan - 0.5)) << row.text;
    EXPECT_FALSE(refuted(row, 0, true, *row.makespan)) << row.text;
    int ranks = 0;
    for (int64_t rank = 0; rank < row.problem.ranks; ++rank) {
      ranks += refuted(row, rank, false, *row.span - 0.5);
      EXPECT_FALSE(refuted(row, rank, false, *row.span)) << row.text;
    }
    EXPECT_GT(ranks, 0) << row.text;
  }
}

/// Unit costs: F = I = W = 1, free hops, activations of 2, of
/// which W needs 1, memory for `memory` activations; optimal span and makespan.
TEST(Optima, SchedulesOfUnitCostsAreOptimal) {
  struct Row {
    int64_t p, m, memory;
    double span, makespan;
  };
  for (Row row : {Row{2, 4, 1, 20, 20},
                  {2, 4, 2, 13, 13},
                  {2, 4, 3, 12, 13},
                  {2, 4, 4, 12, 13},
                  {3, 6, 2, 25, 25},
                  {3, 6, 3, 20, 20},
                  {3, 6, 4, 19, 20},
                  {3, 6, 6, 18, 20},
                  {4, 8, 2, 41, 41},
                  {4, 8, 3, 31, 31},
                  {4, 8, 4, 27, 27},
                  {4, 8, 6, 25, 27},
                  {4, 8, 8, 24, 27},
                  {4, 12, 8, 36, 39}}) {
    ScheduleProblem problem;
    problem.ranks = row.p;
    problem.microbatches = row.m;
    problem.stages.assign(row.p, {Seconds(1), Seconds(1), Seconds(1), 2, 1, 0});
    problem.hops.assign(row.p - 1, Seconds());
    problem.memory = double(2 * row.memory);
    AutoScheduleOptions options;
    EXPECT_EQ(findSchedule(problem, options)->timing.makespan.value,
              row.makespan);
    options.objective = ScheduleObjective::Span;
    EXPECT_EQ(findSchedule(problem, options)->timing.span.value, row.span);
  }
}
