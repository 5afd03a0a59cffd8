//===- GridTest.cpp - schedules as pictures -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/Grid.h"
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
  Schedule schedule{"test", 2, 1, {*parseOrder("0F0 1F0")}};
  EXPECT_EQ(*drawGrid(schedule, chainGraph(2, true)), "rank 0 |0F0|1F0|\n");
}
