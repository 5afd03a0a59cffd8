//===- ZbvSweepTest.cpp - all published rates for V placement -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For all 72 cells, prints the bubble rate that the search reaches, the
// published one, the bound and the processor time. The search has a fraction of
// the effort of the command line.
//
//===----------------------------------------------------------------------===//

#include "../Random.h"
#include "ZbvCells.h"
#include "stagewright/Scheduling/AutoSchedule.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace stagewright;

using stagewright::testing::kPart;

/// STAGEWRIGHT_EFFORT=1 gives the rates in the documentation.
static double effort() {
  const char *text = std::getenv("STAGEWRIGHT_EFFORT");
  return text ? std::atof(text) : 0.03 / double(kPart);
}

TEST(ZbvSweep, NoCellIsLost) {
  std::printf("     x   p   m   found  published  bound  seconds  origin\n");
  for (const zbv::Limit &limit : zbv::kLimits)
    for (size_t r = 0; r < std::size(zbv::kRows); r += kPart > 1 ? 4 : 1) {
      const zbv::Row &row = zbv::kRows[r];
      ScheduleProblem problem = zbv::problemOf(row, limit.memory);
      AutoScheduleOptions options;
      options.objective = ScheduleObjective::Span;
      options.effort = effort();
      std::clock_t began = std::clock();
      Result<AutoSchedule> found = findSchedule(problem, options);
      double seconds = double(std::clock() - began) / CLOCKS_PER_SEC;
      ASSERT_TRUE(found) << found.error().message;
      double rate = zbv::bubbleRate(row, found->timing.span);
      double bound = zbv::bubbleRate(row, found->bounds.span.value);
      std::printf("%.3f %3d %3d   %.4f   %.4f   %.4f   %6.2f  %s\n",
                  limit.memory, int(row.ranks), int(row.microbatches), rate,
                  limit.rates[r], std::max(bound, 0.0), seconds,
                  found->origin.c_str());
      EXPECT_LE(rate, limit.rates[r] + 1e-4);
      EXPECT_GE(rate, bound - 1e-9);
      for (double peak : found->timing.peaks)
        EXPECT_LE(peak, problem.memory * (1 + 1e-9));
    }
}

TEST(ZbvSweep, SearchesLargeProblems) {
  // 64 ranks, 512 microbatches: about 200,000 actions.
  zbv::Row row = zbv::kRows[8];
  row.ranks = kPart > 1 ? 16 : 64;
  row.microbatches = 8 * row.ranks;
  ScheduleProblem problem = zbv::problemOf(row, 1);
  AutoScheduleOptions options;
  options.effort = effort();
  Result<AutoSchedule> found = findSchedule(problem, options);
  ASSERT_TRUE(found) << found.error().message;
  double rate = zbv::bubbleRate(row, found->timing.makespan);
  std::printf("makespan of %d ranks: bubble rate %.4f, bound %.4f, %s\n",
              int(row.ranks), rate,
              zbv::bubbleRate(row, found->bounds.makespan.value),
              found->origin.c_str());
  EXPECT_LT(rate, 0.04);
}
