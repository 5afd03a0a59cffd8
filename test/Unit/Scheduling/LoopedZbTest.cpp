//===- LoopedZbTest.cpp - looped zero-bubble schedules in little memory ---===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests what the list scheduler of loops guarantees if the numbers of
// microbatches and of stages are not multiples of the number of ranks, and
// compares it with the closed form of breadth-first.
//
//===----------------------------------------------------------------------===//

#include "UnitProblem.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/InFlight.h"
#include "stagewright/Scheduling/Timing.h"
#include <gtest/gtest.h>

using namespace stagewright;

/// Max over ranks of the activations held at once in all chunks, from F to W.
static int64_t mostHeld(const Schedule &schedule) {
  int64_t most = 0;
  for (const Order &order : schedule.ranks) {
    int64_t held = 0;
    for (const Action &action : order) {
      held += action.kind == ActionKind::Forward;
      most = std::max(most, held);
      held -= action.kind == ActionKind::WeightGradient;
    }
  }
  return most;
}

TEST(LoopedZb, HoldsWhatItPromises) {
  for (int64_t p = 2; p <= 8; ++p)
    for (int64_t v = 2; v <= 4; ++v)
      for (int64_t spare : {int64_t(0), p / 2})
        for (int64_t m = 1; m <= 4 * p; ++m) {
          ScheduleShape shape{p, m, false, v, 0, 0, {}, spare};
          int64_t more = (p + 7) / 8;
          EXPECT_LE(mostHeld(*generateLoopedZb(shape)),
                    v * std::min(m, p + more));
          EXPECT_LE(mostHeld(*generateLoopedZbWide(shape)),
                    v * std::min(m, p + 2 * more));
        }
}

/// The time of a schedule whose stages take 1 for each of F, I and W.
static double timeOf(const Result<Schedule> &schedule,
                     const ScheduleShape &shape) {
  ScheduleProblem problem = equalStages(Placement::Loop, shape, {1, 1, 1, 0});
  return timeSchedule(*schedule, problem)->makespan.value;
}

/// For m between p and 2p, breadth-first holds all m microbatches and idles for
/// (p - 1) (F + B); looped-zb holds fewer and idles less.
TEST(LoopedZb, IsFasterThanBreadthFirstInLessMemory) {
  for (int64_t p : {8, 16, 32})
    for (int64_t v : {2, 3, 6}) {
      ScheduleShape shape{p, p + p / 2, false, v};
      double work = double(3 * v * shape.microbatches);
      double idle = timeOf(generateLoopedZbWide(shape), shape) - work;
      EXPECT_EQ(timeOf(generateBreadthFirst(shape), shape) - work,
                double(3 * (p - 1)));
      EXPECT_LT(idle, 0.75 * double(3 * (p - 1))) << p << " " << v;
      EXPECT_LT(mostHeld(*generateLoopedZbWide(shape)),
                mostHeld(*generateBreadthFirst(shape)));
    }
}

/// If the last ranks have one chunk less, the step does not become slower.
TEST(LoopedZb, SpareRanksCostNothing) {
  for (int64_t p : {4, 8, 16}) {
    ScheduleShape shape{p, 3 * p, false, 3, 0, 0, {}, p / 2};
    Result<Schedule> schedule = generateLoopedZb(shape);
    ASSERT_TRUE(schedule);
    EXPECT_EQ(schedule->stages, 3 * p - p / 2);
    ScheduleShape full{p, 3 * p, false, 3};
    EXPECT_LE(timeOf(schedule, shape), timeOf(generateLoopedZb(full), full));
  }
}
