//===- GangsTest.cpp - ranks that share stages ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Gangs.h"
#include "../OrderText.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/Verify.h"
#include "gtest/gtest.h"

using namespace stagewright;

namespace {

std::vector<std::vector<int64_t>> onRanks(std::vector<int64_t> ranks) {
  std::vector<std::vector<int64_t>> stages;
  for (int64_t rank : ranks)
    stages.push_back({rank});
  return stages;
}

TEST(GangsTest, LevelsOfAGangAreOneStage) {
  auto gangs = gangsOf(onRanks({0, 1, 0, 1, 0, 1, 2, 3, 2, 3}));
  ASSERT_TRUE(gangs);
  EXPECT_EQ(gangs->ways, 2);
  EXPECT_EQ(gangs->ranks, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(gangs->ends, (std::vector<int64_t>{6, 10}));
  auto first = gangsOf(onRanks({0, 1, 2, 3, 2, 3})); // Gang 0 has one level.
  ASSERT_TRUE(first);
  EXPECT_EQ(first->ways, 2);
  EXPECT_EQ(first->ends, (std::vector<int64_t>{2, 6}));
  auto around = gangsOf(onRanks({0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_FALSE(around); // Stages go around the ranks as in a loop: no gangs.
  auto chunks = gangsOf(onRanks({0, 1, 0, 1, 2, 3, 0, 1, 2, 3, 2, 3}));
  ASSERT_TRUE(chunks);
  EXPECT_EQ(chunks->ranks, (std::vector<int64_t>{0, 1, 0, 1}));
  EXPECT_EQ(chunks->ends, (std::vector<int64_t>{4, 6, 8, 12}));
}

TEST(GangsTest, OthersAreNoGangs) {
  for (const std::vector<int64_t> &ranks : {std::vector<int64_t>{},
                                            {0},
                                            {0, 1, 2, 3},
                                            {0, 0, 1, 1},
                                            {0, 1, 1, 0},
                                            {0, 1, 0, 1, 2, 1, 2, 1}})
    EXPECT_FALSE(gangsOf(onRanks(ranks)));
  EXPECT_FALSE(gangsOf({{0, 1}, {0, 1}, {2, 3}}));
  EXPECT_FALSE(gangsOf({{}, {}}));
}

TEST(GangsTest, GangsInARowMayHaveDifferentNumbersOfRanks) {
  auto gangs = gangsOf(onRanks({0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 4, 5}));
  ASSERT_TRUE(gangs);
  EXPECT_EQ(gangs->ends, (std::vector<int64_t>{8, 12}));
  auto last = gangsOf(onRanks({0, 1, 0, 1, 2, 2})); // One rank.
  ASSERT_TRUE(last);
  EXPECT_EQ(last->ends, (std::vector<int64_t>{4, 6}));
  auto first = gangsOf(onRanks({0, 1, 2, 3, 4, 3, 4})); // One level.
  ASSERT_TRUE(first);
  EXPECT_EQ(first->ends, (std::vector<int64_t>{3, 7}));
  auto missing = gangsOf(onRanks({0, 1, 0, 1, 2, 3, 2})); // Of the last level.
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->ends, (std::vector<int64_t>{4, 7}));
  EXPECT_FALSE(gangsOf({{0, 6}, {1, 7}, {0, 6}, {1, 7}, {2, 8}, {2, 8}}));
}

TEST(GangsTest, CopiesSideBySideAreThoseOfTheFirst) {
  auto gangs = gangsOf({{0, 4}, {1, 5}, {0, 4}, {1, 5}, {2, 6}, {3, 7}});
  ASSERT_TRUE(gangs);
  EXPECT_EQ(gangs->ways, 2);
  EXPECT_EQ(gangs->ranks, (std::vector<int64_t>{0, 1}));
  // Replicas must be in the same order everywhere, each on its own rank.
  EXPECT_FALSE(gangsOf({{0, 4}, {1, 5}, {0, 5}, {1, 4}, {2, 6}, {3, 7}}));
  EXPECT_FALSE(gangsOf({{0, 4}, {1, 5}, {0, 4}, {1}, {2, 6}, {3, 7}}));
}

/// Levels of two stages: forwards of a level need both stages of the previous
/// level.
StageGraph levelsOfTwo(int64_t stages) {
  StageGraph graph{stages, false, {}};
  for (int64_t stage = 2; stage < stages; ++stage)
    for (int64_t from : {stage - 2 - stage % 2, stage - 1 - stage % 2}) {
      graph.edges.push_back({{ActionKind::Forward, from},
                             {ActionKind::Forward, stage},
                             {ActionKind::InputGradient, stage},
                             0});
      graph.edges.push_back({{ActionKind::InputGradient, stage},
                             {ActionKind::InputGradient, from},
                             {ActionKind::InputGradient, from},
                             0});
    }
  return graph;
}

TEST(GangsTest, EachRunsItsOwnStagesInOneOrder) {
  auto gangs = gangsOf(onRanks({0, 1, 0, 1, 2, 3}));
  ASSERT_TRUE(gangs);
  ScheduleShape shape;
  shape.ranks = 2;
  shape.microbatches = 2;
  Schedule all = runInGangs(*generateOneFOneB(shape), *gangs);
  ASSERT_EQ(all.ranks.size(), 4u);
  EXPECT_EQ(toString(all.ranks[0]), "0F0 2F0 0F1 2F1 2B0 0B0 2B1 0B1");
  EXPECT_EQ(toString(all.ranks[1]), "1F0 3F0 1F1 3F1 3B0 1B0 3B1 1B1");
  EXPECT_EQ(toString(all.ranks[2]), "4F0 4B0 4F1 4B1");
  EXPECT_TRUE(verify(all, levelsOfTwo(6)));
}

TEST(GangsTest, RanksOfOneGangRunAllOfAMicrobatch) {
  auto ranks = onRanks({0, 1, 0, 1, 1, 2, 1, 2}); // The stages share rank 1.
  EXPECT_FALSE(gangsOf(ranks));
  ScheduleShape shape;
  shape.ranks = 1;
  shape.microbatches = 2;
  Schedule all = runInGangs(*generateOneFOneB(shape), oneGang(ranks));
  ASSERT_EQ(all.ranks.size(), 3u);
  EXPECT_EQ(toString(all.ranks[0]), "0F0 2F0 2B0 0B0 0F1 2F1 2B1 0B1");
  EXPECT_EQ(toString(all.ranks[1]),
            "1F0 3F0 4F0 6F0 6B0 4B0 3B0 1B0 1F1 3F1 4F1 6F1 6B1 4B1 3B1 1B1");
  EXPECT_TRUE(verify(all, levelsOfTwo(8)));
}

TEST(GangsTest, TheLastOfAPipelineThatGoesBackHasTwoStages) {
  auto gangs = gangsOf(onRanks({0, 1, 2, 3, 2, 3, 2, 3, 0, 1}));
  ASSERT_TRUE(gangs);
  EXPECT_EQ(gangs->ranks, (std::vector<int64_t>{0, 1, 0}));
  Gangs back = turnedBack(*gangs);
  EXPECT_EQ(back.ranks, (std::vector<int64_t>{0, 1, 1, 0}));
  EXPECT_EQ(back.ends, (std::vector<int64_t>{2, 4, 8, 10}));
  // A single level, no last gang, a loop.
  for (const std::vector<int64_t> &ranks :
       {std::vector<int64_t>{0, 1, 0, 1, 2, 3, 0, 1},
        {0, 1, 0, 1, 2, 3, 2, 3},
        {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 2, 3}}) {
    Gangs others = *gangsOf(onRanks(ranks));
    EXPECT_EQ(turnedBack(others).ends, others.ends);
  }
}

TEST(GangsTest, NoneWaitsForEver) {
  std::vector<int64_t> linear, around, back;
  for (int64_t level = 0; level < 24; ++level)
    for (int64_t shard : {0, 1}) {
      int64_t stage = level / 3;
      linear.push_back(stage / 2 * 2 + shard);
      around.push_back(stage % 4 * 2 + shard);
      back.push_back(std::min(stage, 7 - stage) * 2 + shard);
    }
  for (const Generator &generator : allGenerators()) {
    if (generator.placement == Placement::Twin || generator.isSearched ||
        std::string(generator.name) == "forward-only")
      continue;
    int64_t chunks = generator.leastChunks;
    auto gangs = gangsOf(onRanks(generator.placement == Placement::V ? back
                                 : chunks == 2                       ? around
                                                                     : linear));
    ASSERT_TRUE(gangs);
    if (generator.placement == Placement::V)
      gangs = turnedBack(*gangs);
    ScheduleShape shape;
    shape.ranks = 4;
    shape.chunks = chunks;
    shape.microbatches = 8;
    Result<Schedule> made = generator.generate(shape);
    ASSERT_TRUE(made) << made.error().message;
    Status status = verify(runInGangs(*made, *gangs), levelsOfTwo(48));
    EXPECT_TRUE(status) << generator.name << ": " << status.error().message;
  }
}

} // namespace
