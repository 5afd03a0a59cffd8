//===- GangSchedulesTest.cpp - schedules of pipelines of gangs ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../OrderText.h"
#include "stagewright/Planning/Placed.h"
#include <gtest/gtest.h>

using namespace stagewright;

namespace {

/// The schedule `name` for two microbatches, with `levels` levels in each stage
/// of a pipeline, by stage: its ranks.
Result<Schedule> scheduleOf(const char *name,
                            const std::vector<std::vector<int64_t>> &places,
                            int64_t levels) {
  ReplicaRanks ranks;
  GangStages stated;
  for (size_t stage = 0; stage < places.size(); ++stage)
    for (int64_t level = 0; level < levels; ++level)
      for (int64_t rank : places[stage]) {
        ranks.push_back({rank});
        stated.push_back(int64_t(stage));
      }
  ScheduleShape shape;
  shape.microbatches = 2;
  return generateInGangs(*findGenerator(name), ranks, stated, shape);
}

std::string orderOf(const Result<Schedule> &made, size_t rank) {
  return made ? toString(made->ranks.at(rank)) : made.error().message;
}

TEST(GangSchedules, GangsThatFollowOneAnotherAreRanks) {
  auto made = scheduleOf("1f1b", {{0, 1}, {2}}, 1);
  EXPECT_EQ(orderOf(made, 0), "0F0 0F1 0B0 0B1");
  EXPECT_EQ(orderOf(made, 1), "1F0 1F1 1B0 1B1");
  EXPECT_EQ(orderOf(made, 2), "2F0 2B0 2F1 2B1");
}

TEST(GangSchedules, StagesOfOneGangAreItsChunks) {
  // Gangs 0 and 1, then again: chunks of a loop.
  auto loop = scheduleOf("interleaved", {{0, 1}, {2, 3}, {0, 1}, {2, 3}}, 1);
  EXPECT_EQ(orderOf(loop, 0), "0F0 0F1 4F0 4F1 4B0 4B1 0B0 0B1");
  EXPECT_EQ(orderOf(loop, 3), "3F0 3F1 7F0 7B0 7F1 7B1 3B0 3B1");
}

TEST(GangSchedules, StagesOfTheLastGangHaveTheirOwnLevels) {
  // Stage 1 is one level of rank 2, stage 2 three.
  ReplicaRanks ranks = {{0}, {1}, {2}, {2}, {2}, {2}, {0}, {1}};
  ScheduleShape shape;
  shape.microbatches = 3;
  auto made = generateInGangs(*findGenerator("zb-v"), ranks,
                              {0, 0, 1, 2, 2, 2, 3, 3}, shape);
  shape.ranks = shape.chunks = 2;
  Schedule ofGangs = *generateZbV(shape);
  Order wanted; // Of rank 2.
  for (const Action &action : ofGangs.ranks[1])
    if (action.stage == 1)
      wanted.push_back({action.kind, 2, action.microbatch});
    else if (action.kind == ActionKind::Forward)
      for (int64_t stage : {3, 4, 5})
        wanted.push_back({action.kind, stage, action.microbatch});
    else
      for (int64_t stage : {5, 4, 3})
        wanted.push_back({action.kind, stage, action.microbatch});
  EXPECT_EQ(orderOf(made, 2), toString(wanted));
}

TEST(GangSchedules, LevelsGoThroughAllStagesOfTheirRanks) {
  for (const std::vector<std::vector<int64_t>> &places :
       {std::vector<std::vector<int64_t>>{{0, 1}, {0, 1}}, {{0, 1}, {1, 0}}}) {
    auto made = scheduleOf("levels", places, 2);
    EXPECT_EQ(orderOf(made, 0), places[1][0] == 0
                                    ? "0F0 0F1 2F0 2F1 4F0 4F1 6F0 6F1 6B0 6B1 "
                                      "4B0 4B1 2B0 2B1 0B0 0B1"
                                    : "0F0 0F1 2F0 2F1 5F0 5F1 7F0 7F1 7B0 7B1 "
                                      "5B0 5B1 2B0 2B1 0B0 0B1");
  }
  auto overlapping = scheduleOf("levels", {{0, 1}, {1, 2}}, 1);
  EXPECT_EQ(orderOf(overlapping, 1), "1F0 1F1 2F0 2F1 2B0 2B1 1B0 1B1");
}

TEST(GangSchedules, SchedulesWithoutAPlacementRunWhatIsReady) {
  auto made = scheduleOf("1f1b", {{0}, {1}, {0}}, 1);
  EXPECT_EQ(orderOf(made, 0), "0F0 0F1 2F0 2B0 2F1 2B1 0B0 0B1");
  EXPECT_EQ(orderOf(made, 1), "1F0 1F1 1B0 1B1");
  auto same = scheduleOf("gpipe", {{0, 1}, {0, 1}}, 1);
  EXPECT_EQ(orderOf(same, 1), "1F0 3F0 1F1 3F1 3B0 1B0 3B1 1B1");
}

TEST(GangSchedules, OthersSayWhereTheStagesAre) {
  EXPECT_EQ(orderOf(scheduleOf("interleaved", {{0}, {1}, {0}}, 1), 0),
            "'interleaved' wants the stages of a pipeline placed loop, 2 or "
            "more on each gang, but they are on gangs 0, 1, 0; take a schedule "
            "with one stage on each, such as 1f1b, or place them otherwise");
  EXPECT_EQ(orderOf(scheduleOf("zb-v", {{0, 1}, {1, 2}}, 1), 0),
            "'zb-v' wants the stages of a pipeline placed v, 2 on each gang, "
            "but they are on gangs 0+1, 1+2; take a schedule with one stage on "
            "each, such as 1f1b, or place them otherwise");
  EXPECT_EQ(orderOf(scheduleOf("chimera", {{0, 1}, {2, 3}}, 1), 0),
            "'chimera' wants each stage of a pipeline on two gangs, but they "
            "are on gangs 0, 1; take a schedule with one stage on each, such "
            "as 1f1b, or place them otherwise");
}

} // namespace
