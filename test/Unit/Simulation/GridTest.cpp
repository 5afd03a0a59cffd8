//===- GridTest.cpp - schedules as pictures -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/Grid.h"
#include "../OrderText.h"
#include "stagewright/Scheduling/Generators.h"
#include <gtest/gtest.h>

using namespace stagewright;

TEST(Grid, PictureOfGPipe) {
  EXPECT_EQ(*drawGrid(*generateGPipe({2, 4, false}), chainGraph(2, false)),
            "rank 0 |F0|F1|F2|F3|        |B0   |B1   |B2   |B3   |\n"
            "rank 1    |F0|F1|F2|F3|B0   |B1   |B2   |B3   |\n");
}

TEST(Grid, PictureOfOneFOneB) {
  EXPECT_EQ(*drawGrid(*generateOneFOneB({2, 4, false}), chainGraph(2, false)),
            "rank 0 |F0|F1|     |B0   |F2|B1   |F3|B2   |  |B3   |\n"
            "rank 1    |F0|B0   |F1|B1   |F2|B2   |F3|B3   |\n");
}

TEST(Grid, NamesStagesWhereARankHasSeveral) {
  Schedule schedule{"test", 2, 1, {parseOrder("0F0 1F0")}};
  EXPECT_EQ(*drawGrid(schedule, chainGraph(2, true)), "rank 0 |0F0|1F0|\n");
}

static Timeline timelineOf(std::vector<std::vector<TimedAction>> ranks) {
  Timeline timeline;
  timeline.ranks = std::move(ranks);
  timeline.measure();
  return timeline;
}

// A slot is as long as the shortest action if that divides all times.
TEST(Grid, EqualCostsAreExact) {
  Timeline timeline =
      timelineOf({{{{ActionKind::Forward, 0, 0}, Seconds(0), Seconds(0.5)},
                   {{ActionKind::Backward, 0, 0}, Seconds(0.5), Seconds(1.5)},
                   {{ActionKind::Update, 0, 0}, Seconds(1.5), Seconds(1.5)}}});
  EXPECT_EQ(drawGridToScale(timeline), "rank 0 |F0|B0   |\n");
}

TEST(Grid, UnequalCostsAreToScale) {
  Timeline timeline =
      timelineOf({{{{ActionKind::Forward, 0, 0}, Seconds(0), Seconds(1)},
                   {{ActionKind::Backward, 0, 0}, Seconds(1), Seconds(3.5)}},
                  {{{ActionKind::Forward, 1, 0}, Seconds(1), Seconds(3)}}});
  EXPECT_EQ(drawGridToScale(timeline), "rank 0 |F0|B0     |\n"
                                       "rank 1    |F0   |\n");
  // With narrow columns a short action has no room for its number, or none for
  // any text.
  EXPECT_EQ(drawGridToScale(timeline, 7), "rank 0 |F|B0  |\n"
                                          "rank 1   |F0 |\n");
  EXPECT_EQ(drawGridToScale(timeline, 3), "rank 0 ||B|\n"
                                          "rank 1  |F|\n");
}

TEST(Grid, PairsThatRunAsOneShareACell) {
  Timeline timeline = timelineOf(
      {{{{ActionKind::Forward, 0, 1}, Seconds(0), Seconds(2)},
        {{ActionKind::Backward, 1, 0, true}, Seconds(0), Seconds(2)}}});
  EXPECT_EQ(drawGridToScale(timeline), "rank 0 |0F1&1B0|\n");
}

TEST(Grid, NothingTakesTime) {
  Timeline timeline = timelineOf({{{{ActionKind::Forward, 0, 0}, {}, {}}}});
  EXPECT_EQ(drawGridToScale(timeline), "rank 0 |\n");
}
