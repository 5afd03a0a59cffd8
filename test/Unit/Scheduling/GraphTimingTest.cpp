//===- GraphTimingTest.cpp - makespans against closed forms ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../OrderText.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/Timing.h"
#include <gtest/gtest.h>

using namespace stagewright;

static double makespan(const char *name, int64_t stages, int64_t microbatches,
                       double hop = 0) {
  StageGraph graph = chainGraph(stages, false);
  StepTimes times = unitTimes(stages);
  times.hops.assign(graph.edges.size(), Seconds(hop));
  Schedule schedule =
      *findGenerator(name)->generate({stages, microbatches, false});
  return timeSchedule(schedule, graph, times)->makespan.value;
}

// The published grid of unit costs (F = I = W = 1): (p, m) and makespan.
TEST(GraphTiming, UnitCostGrid) {
  struct Row {
    int64_t stages, microbatches;
    double makespan;
  };
  for (const Row &row :
       {Row{4, 8, 33}, Row{4, 16, 57}, Row{8, 16, 69}, Row{8, 32, 117}})
    for (const char *name : {"gpipe", "1f1b"})
      EXPECT_EQ(makespan(name, row.stages, row.microbatches), row.makespan);
}

// GPipe: (p-1)(F+B+2c); 1F1B: the same plus 2c*floor((p-1)(m-1)/p).
TEST(GraphTiming, BubbleIsTheClosedForm) {
  for (int64_t p = 1; p <= 8; ++p)
    for (int64_t m = 1; m <= 32; ++m)
      for (double c : {0.0, 0.125, 0.25}) {
        double bubble = (p - 1) * (3 + 2 * c);
        EXPECT_DOUBLE_EQ(makespan("gpipe", p, m, c), 3 * m + bubble);
        EXPECT_DOUBLE_EQ(makespan("1f1b", p, m, c),
                         3 * m + bubble + 2 * c * ((p - 1) * (m - 1) / p));
      }
}

// early-backward hides transfers with 2c <= F + B.
TEST(GraphTiming, EarlyBackwardPaysTransfersOnce) {
  for (int64_t p = 1; p <= 8; ++p)
    for (int64_t m = 1; m <= 32; ++m)
      for (double c : {0.0, 0.25, 1.0, 1.5})
        EXPECT_DOUBLE_EQ(makespan("early-backward", p, m, c),
                         3 * m + (p - 1) * (3 + 2 * c));
}

TEST(GraphTiming, RingDepthDelaysTheSender) {
  StageGraph graph = chainGraph(2, true);
  graph.edges[0].depth = 1;
  Schedule schedule = *generateGPipe({2, 3, true});
  // With one slot, sender and receiver alternate.
  EXPECT_EQ(timeSchedule(schedule, graph, unitTimes(2))->makespan, Seconds(6));
  graph.edges[0].depth = 2;
  EXPECT_EQ(timeSchedule(schedule, graph, unitTimes(2))->makespan, Seconds(4));
}

TEST(GraphTiming, DeadlockIsAnError) {
  Schedule schedule{"test", 1, 1, {parseOrder("0B0 0F0")}};
  EXPECT_FALSE(timeSchedule(schedule, chainGraph(1, false), unitTimes(1)));
}
