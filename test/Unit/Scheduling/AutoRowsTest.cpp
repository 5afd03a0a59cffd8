//===- AutoRowsTest.cpp - the scheduler on published rows -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints the bubble rate, bound, gap and processor time of every row.
//
//===----------------------------------------------------------------------===//

#include "PublishedRows.h"
#include "stagewright/Scheduling/AutoSchedule.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstdio>
#include <ctime>

using namespace stagewright;

/// Rounded to four digits, as the published rates are.
static double fourDigits(double rate) { return std::round(rate * 1e4) / 1e4; }

struct Found {
  double rate, gap;
};

static Found findSpan(const PublishedRow &row, double share) {
  AutoScheduleOptions options;
  options.objective = ScheduleObjective::Span;
  std::clock_t start = std::clock();
  Result<AutoSchedule> found = findSchedule(row.problem(share), options);
  double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_TRUE(found);
  if (!found)
    return {1, 1};
  double span = found->timing.span.value;
  double bound = found->bounds.span.value.value;
  double gap = span / bound - 1;
  std::printf(
      "  (%ld, %ld) x %.2f: %.4f, bound %.4f, gap %.3f %%, %s, %.2f s\n",
      long(row.ranks), long(row.microbatches), share,
      (span - row.work()) / span, (bound - row.work()) / bound, 100 * gap,
      found->origin.c_str(), seconds);
  return {fourDigits((span - row.work()) / span), gap};
}

TEST(AutoRows, ZeroBubbleRowsMeetTheBoundAtOneAndComeCloseAtTwo) {
  for (size_t i = 0; i < std::size(kZeroBubbleRows); ++i) {
    Found one = findSpan(kZeroBubbleRows[i], 1);
    EXPECT_NEAR(one.gap, 0, 1e-9);
    EXPECT_EQ(one.rate, kZb1p[i]);
    Found two = findSpan(kZeroBubbleRows[i], 2);
    EXPECT_LE(two.gap, 0.007);
    EXPECT_LE(two.rate, kZb2p[i]);
  }
}

TEST(AutoRows, ZeroBubbleRowsComeCloseInBetween) {
  for (double share : {1.25, 1.5, 1.75})
    for (const PublishedRow &row : kZeroBubbleRows) {
      Found found = findSpan(row, share);
      EXPECT_LE(found.gap, 0.01);
      // Rates of the published heuristic.
      if (&row == kZeroBubbleRows && share == 1.25)
        EXPECT_LE(found.rate, .1068);
      if (&row == kZeroBubbleRows && share == 1.5)
        EXPECT_LE(found.rate, .0719);
    }
}

TEST(AutoRows, SweepIsNoWorseThanTheHeuristic) {
  for (const PublishedSweep &sweep : kSweep)
    for (size_t i = 0; i < std::size(kSweepRows); ++i) {
      Found found = findSpan(kSweepRows[i], sweep.share);
      EXPECT_LE(found.gap, 0.01);
      EXPECT_LE(found.rate, sweep.rates[i]);
    }
}
