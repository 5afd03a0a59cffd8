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

std::vector<std::vector<int64_t>> onRanks(const std::vector<int64_t> &ranks) {
  std::vector<std::vector<int64_t>> stages;
  for (int64_t rank : ranks)
    stages.push_back({rank});
  return stages;
}

Result<Gangs> gangsOn(const std::vector<int64_t> &ranks,
                      const std::vector<int64_t> &stated) {
  return gangsOf(onRanks(ranks), GangStages(stated.begin(), stated.end()));
}

using Numbers = std::vector<int64_t>;

TEST(GangsTest, LevelsOfAStageOfThePipelineAreOneStage) {
  auto gangs =
      gangsOn({0, 1, 0, 1, 0, 1, 2, 3, 2, 3}, {0, 0, 0, 0, 0, 0, 1, 1, 1, 1});
  ASSERT_TRUE(gangs);
  EXPECT_EQ(gangs->ranks, (std::vector<Numbers>{{0, 1}, {2, 3}}));
  EXPECT_EQ(gangs->ends, (Numbers{6, 10}));
  EXPECT_EQ(gangs->numbers(), (Numbers{0, 1}));
  // Stages that follow on the same gang, also where only one shard has levels.
  auto same = gangsOn({0, 1, 0, 1, 1, 0, 1}, {0, 0, 1, 1, 1, 2, 2});
  ASSERT_TRUE(same);
  EXPECT_EQ(same->ends, (Numbers{2, 5, 7}));
  EXPECT_EQ(same->numbers(), (Numbers{0, 0, 0}));
  auto returning = gangsOn({2, 0, 1, 0, 2}, {0, 1, 1, 1, 2});
  ASSERT_TRUE(returning);
  EXPECT_EQ(returning->ranks, (std::vector<Numbers>{{2}, {0, 1}, {2}}));
  EXPECT_EQ(returning->numbers(), (Numbers{0, 1, 0}));
}

TEST(GangsTest, GangsThatOverlapHaveNoNumbers) {
  auto chain = gangsOn({0, 1, 1, 2}, {0, 0, 1, 1});
  ASSERT_TRUE(chain);
  EXPECT_FALSE(chain->numbers());
  auto within = gangsOn({0, 1, 2, 1}, {0, 0, 0, 1});
  ASSERT_TRUE(within);
  EXPECT_FALSE(within->numbers());
}

TEST(GangsTest, NumbersThatDoNotFollowOneAnotherAreWrong) {
  EXPECT_FALSE(firstWrong({}));
  EXPECT_FALSE(firstWrong({std::nullopt, std::nullopt}));
  EXPECT_FALSE(firstWrong({0, 0, 1}));
  EXPECT_EQ(firstWrong({1, 1}), 0u);
  EXPECT_EQ(firstWrong({-1, 0}), 0u);
  EXPECT_EQ(firstWrong({0, 0, 2}), 2u);
  EXPECT_EQ(firstWrong({0, 1, 0}), 2u);
  EXPECT_EQ(firstWrong({0, std::nullopt}), 1u);
  EXPECT_EQ(firstWrong({std::nullopt, 0}), 1u);
  EXPECT_FALSE(gangsOn({0, 1, 0}, {0, 1, 0}));
}

TEST(GangsTest, StagesWithoutRanksAreNoGangs) {
  EXPECT_FALSE(gangsOf(ReplicaRanks(2), {0, 1}));
}

TEST(GangsTest, CopiesSideBySideAreThoseOfTheFirst) {
  GangStages stated = {0, 0, 0, 0, 1, 1};
  auto gangs =
      gangsOf({{0, 4}, {1, 5}, {0, 4}, {1, 5}, {2, 6}, {3, 7}}, stated);
  ASSERT_TRUE(gangs);
  EXPECT_EQ(gangs->numbers(), (Numbers{0, 1}));
  // Copies must be in the same order everywhere, each on its own rank.
  auto crossed =
      gangsOf({{0, 4}, {1, 5}, {0, 5}, {1, 4}, {2, 6}, {3, 7}}, stated);
  ASSERT_FALSE(crossed);
  auto fewer = gangsOf({{0, 4}, {1, 5}, {0, 4}, {1}, {2, 6}, {3, 7}}, stated);
  ASSERT_FALSE(fewer);
  EXPECT_EQ(fewer.error().message,
            "stage 3 has 1 devices, but stage 0 has 2; copies of a pipeline of "
            "shards have all of its stages, so give each stage as many "
            "devices");
}

/// A pipeline in which each stage is `levels` levels of its gang: forwards of a
/// level need all of the level before, backwards all of the level after.
struct Levels {
  Levels(const std::vector<Numbers> &ranks, int64_t levels) {
    std::vector<int64_t> on, stated, before;
    for (size_t stage = 0; stage < ranks.size(); ++stage)
      for (int64_t level = 0; level < levels; ++level) {
        std::vector<int64_t> own;
        for (int64_t rank : ranks[stage]) {
          own.push_back(int64_t(on.size()));
          for (int64_t from : before) {
            graph.edges.push_back({{ActionKind::Forward, from},
                                   {ActionKind::Forward, own.back()},
                                   {ActionKind::InputGradient, own.back()},
                                   0});
            graph.edges.push_back({{ActionKind::InputGradient, own.back()},
                                   {ActionKind::InputGradient, from},
                                   {ActionKind::InputGradient, from},
                                   0});
          }
          on.push_back(rank);
          stated.push_back(int64_t(stage));
        }
        before = own;
      }
    graph.stages = int64_t(on.size());
    gangs = *gangsOn(on, stated);
  }

  StageGraph graph;
  Gangs gangs;
};

ScheduleShape shapeOf(int64_t ranks, int64_t microbatches) {
  ScheduleShape shape;
  shape.ranks = ranks;
  shape.microbatches = microbatches;
  return shape;
}

TEST(GangsTest, EachRunsItsOwnStagesInOneOrder) {
  auto gangs = gangsOn({0, 1, 0, 1, 2, 3}, {0, 0, 0, 0, 1, 1});
  ASSERT_TRUE(gangs);
  Schedule all = runInGangs(*generateOneFOneB(shapeOf(2, 2)), *gangs);
  ASSERT_EQ(all.ranks.size(), 4u);
  EXPECT_EQ(toString(all.ranks[0]), "0F0 2F0 0F1 2F1 2B0 0B0 2B1 0B1");
  EXPECT_EQ(toString(all.ranks[1]), "1F0 3F0 1F1 3F1 3B0 1B0 3B1 1B1");
  EXPECT_EQ(toString(all.ranks[2]), "4F0 4B0 4F1 4B1");
}

TEST(GangsTest, AGangToWhichThePipelineReturnsRunsWhatIsReady) {
  Levels chain({{0, 1}, {2, 3}, {0, 1}}, 1);
  Schedule all = runMerged(*generateOneFOneB(shapeOf(3, 3)), chain.gangs);
  ASSERT_EQ(all.ranks.size(), 4u);
  // By 1F1B stage 0 runs three forwards before its first backward. Its gang
  // runs the last stage as soon as the stage between has sent. It is never
  // idle: the last backwards of stage 2 come before those of stage 0 that are
  // ready.
  EXPECT_EQ(toString(all.ranks[0]),
            "0F0 0F1 4F0 4B0 4F1 4B1 0F2 0B0 4F2 4B2 0B1 0B2");
  EXPECT_EQ(toString(all.ranks[1]),
            "1F0 1F1 5F0 5B0 5F1 5B1 1F2 1B0 5F2 5B2 1B1 1B2");
  EXPECT_EQ(toString(all.ranks[2]), "2F0 2F1 2B0 2F2 2B1 2B2");
  EXPECT_TRUE(verify(all, chain.graph));
}

TEST(GangsTest, FewMessagesWaitWithoutBackwards) {
  Levels chain({{0, 1}, {2}, {0, 1}}, 1);
  ScheduleShape shape = shapeOf(3, 9);
  shape.forwardOnly = true;
  Schedule all = runMerged(*generateOneFOneB(shape), chain.gangs);
  // All forwards of stage 0 first would end one action earlier.
  EXPECT_EQ(toString(all.ranks[0]),
            "0F0 0F1 3F0 3F1 0F2 0F3 3F2 3F3 0F4 0F5 3F4 3F5 0F6 0F7 3F6 3F7 "
            "0F8 3F8");
}

TEST(GangsTest, GangsWithoutACommonRankWorkAtTheSameTime) {
  Levels chain({{0, 1}, {1, 2}, {2, 3}}, 1);
  Schedule all = runMerged(*generateGPipe(shapeOf(3, 2)), chain.gangs);
  ASSERT_EQ(all.ranks.size(), 4u);
  // While ranks 2 and 3 run microbatch 0, ranks 0 and 1 run microbatch 1.
  EXPECT_EQ(toString(all.ranks[0]), "0F0 0F1 0B0 0B1");
  EXPECT_EQ(toString(all.ranks[1]), "1F0 2F0 1F1 2F1 2B0 1B0 2B1 1B1");
  EXPECT_EQ(toString(all.ranks[2]), "3F0 4F0 3F1 4F1 4B0 3B0 4B1 3B1");
  EXPECT_EQ(toString(all.ranks[3]), "5F0 5F1 5B0 5B1");
  EXPECT_TRUE(verify(all, chain.graph));
}

/// Places of three or four stages: disjoint, equal, overlapping, one within
/// another, and to which the pipeline returns.
const std::vector<std::vector<Numbers>> kPlaces = {
    {{0, 1}, {2, 3}, {4, 5}},         {{0, 1}, {0, 1}, {0, 1}},
    {{0, 1}, {1, 2}, {2, 3}},         {{0, 1, 2}, {1}, {0, 3}},
    {{0, 1}, {2, 3}, {0, 1}, {2, 3}}, {{0, 1}, {2, 3}, {2, 3}, {0, 1}},
    {{0}, {1, 2}, {0, 1}, {2}},       {{0, 1}, {2}, {0, 1}, {0, 1, 2}}};

TEST(GangsTest, NoneWaitsForEver) {
  for (const std::vector<Numbers> &places : kPlaces)
    for (const Generator &generator : allGenerators()) {
      if (generator.leastChunks != 1 ||
          generator.placement == Placement::Twin ||
          std::string(generator.name) == "forward-only")
        continue;
      for (int64_t microbatches : {1, 2, 9}) {
        Levels chain(places, 3);
        Result<Schedule> made =
            generator.generate(shapeOf(int64_t(places.size()), microbatches));
        ASSERT_TRUE(made) << made.error().message;
        Status status = verify(runMerged(*made, chain.gangs), chain.graph);
        EXPECT_TRUE(status) << generator.name << ": " << status.error().message;
      }
    }
}

} // namespace
