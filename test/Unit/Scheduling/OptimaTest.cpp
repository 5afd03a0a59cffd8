//===- OptimaTest.cpp - bounds beside exact optima ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Golden values: CP-SAT, tables under Optima/.
//
//===----------------------------------------------------------------------===//

#include "Optima.h"
#include "stagewright/Scheduling/AutoSchedule.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <iostream>

using namespace stagewright;

namespace {

/// How often a bound was below, at and above an optimum.
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

/// The better of an optimum among all orders and one of fewer; none proved
/// among all is no reason to doubt the other.
static std::optional<double> best(std::optional<double> all,
                                  std::optional<double> fewer) {
  return all ? all : fewer;
}

/// Bounds of a table: none above an optimum; returns {span, makespan}.
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
  auto [span, makespan] = compare("appendix-b");
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

/// Several chunks have no counting, only closed forms.
TEST(Optima, BoundsOfVPlacementHold) {
  auto [span, makespan] = compare("v");
  EXPECT_GE(span.met, 15);
  EXPECT_GE(makespan.met, 20);
}

/// Linear placement, first in first out, both objectives.
TEST(Optima, SchedulesAreOptimal) {
  for (const char *table : {"appendix-b", "equal"})
    for (const OptimaRow &row : readOptima(table))
      for (auto objective :
           {ScheduleObjective::Span, ScheduleObjective::Makespan}) {
        bool spans = objective == ScheduleObjective::Span;
        AutoScheduleOptions options;
        options.objective = objective;
        Result<AutoSchedule> found = findSchedule(row.problem, options);
        ASSERT_TRUE(bool(found)) << row.text;
        EXPECT_TRUE(found->optimal) << row.text;
        EXPECT_EQ(spans ? found->timing.span.value
                        : found->timing.makespan.value,
                  spans ? *row.span : *row.makespan)
            << row.text;
      }
}

/// First in first out per stage and kind is no loss in any row where both
/// optima are known.
TEST(Optima, FirstInFirstOutIsNoLoss) {
  for (const char *table : {"appendix-b", "equal", "unequal", "v"})
    for (const OptimaRow &row : readOptima(table)) {
      if (row.spanAny) {
        EXPECT_EQ(*row.spanAny, *row.span) << row.text;
      }
      if (row.makespanAny) {
        EXPECT_EQ(*row.makespanAny, *row.makespan) << row.text;
      }
    }
}

TEST(Optima, RefutesWhatIsBelowAnOptimum) {
  for (const OptimaRow &row : readOptima("appendix-b")) {
    EXPECT_TRUE(refutesSchedule(row.problem, true, Seconds(*row.span - 0.5)));
    EXPECT_FALSE(refutesSchedule(row.problem, true, Seconds(*row.span)));
    EXPECT_TRUE(
        refutesSchedule(row.problem, false, Seconds(*row.makespan - 0.5)));
    EXPECT_FALSE(refutesSchedule(row.problem, false, Seconds(*row.makespan)));
  }
}
