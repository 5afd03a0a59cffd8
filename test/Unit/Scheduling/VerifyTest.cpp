//===- VerifyTest.cpp - errors of invalid schedules -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Verify.h"
#include "FromText.h"
#include "stagewright/Scheduling/Generators.h"
#include <gtest/gtest.h>

using namespace stagewright;
using stagewright::testing::fromText;

static std::string errorOf(const Schedule &schedule, const StageGraph &graph) {
  Status status = verify(schedule, graph);
  return status ? "" : status.error().message;
}

TEST(Verify, SplitBackwardIsComplete) {
  EXPECT_EQ(
      errorOf(fromText(2, 1, {"0F0 0B0", "1F0 1I0 1W0"}), chainGraph(2, false)),
      "");
}

static std::string pictureOf(const Schedule &schedule,
                             const StageGraph &graph) {
  Status status = verify(schedule, graph);
  return status || status.error().notes.empty() ? ""
                                                : status.error().notes.front();
}

TEST(Verify, MissingAction) {
  EXPECT_EQ(errorOf(fromText(1, 2, {"0F0 0F1 0B0 0I1"}), chainGraph(1, false)),
            "schedule lacks 0W1");
  // The missing action is named in the form that the order uses.
  EXPECT_EQ(errorOf(fromText(1, 2, {"0F0 0F1 0B0"}), chainGraph(1, false)),
            "schedule lacks 0B1");
  EXPECT_EQ(errorOf(fromText(1, 2, {"0F0 0F1 0I0 0W0"}), chainGraph(1, false)),
            "schedule lacks 0I1");
}

TEST(Verify, PictureShowsWhereAnActionIsMissing) {
  EXPECT_EQ(pictureOf(fromText(2, 2, {"0F0 0F1", "1F0"}), chainGraph(2, true)),
            "the steps in brackets:\nrank 1, step 0: [1F0]");
  // Stage 1 has no action at all.
  EXPECT_EQ(pictureOf(fromText(2, 2, {"0F0 0F1"}), chainGraph(2, true)),
            "the steps in brackets:\nrank 0, step 0: [0F0] 0F1");
}

TEST(Verify, ActionTwice) {
  EXPECT_EQ(errorOf(fromText(1, 1, {"0F0 0B0 0W0"}), chainGraph(1, false)),
            "schedule runs 0W0 on rank 0 although it runs 0B0 on rank 0");
}

TEST(Verify, ActionThatDoesNotExist) {
  EXPECT_EQ(errorOf(fromText(1, 1, {"0F0 0B0 0F7"}), chainGraph(1, false)),
            "action 0F7 on rank 0 does not exist; there is 1 stage and 1 "
            "microbatch");
}

TEST(Verify, OtherNumberOfStages) {
  EXPECT_EQ(errorOf(fromText(1, 1, {"0F0 0B0"}), chainGraph(2, false)),
            "schedule has 1 stages, the program has 2");
}

TEST(Verify, BackwardInAForwardProgram) {
  EXPECT_EQ(errorOf(fromText(1, 1, {"0F0 0B0"}), chainGraph(1, true)),
            "schedule runs 0B0 on rank 0 although the program has no backward");
}

TEST(Verify, WrongOrderOnOneRank) {
  EXPECT_EQ(errorOf(fromText(1, 1, {"0B0 0F0"}), chainGraph(1, false)),
            "rank 0 runs 0B0 before 0F0, which it waits for");
}

TEST(Verify, DeadlockNamesTheCycle) {
  EXPECT_EQ(errorOf(fromText(2, 2, {"0F0 0B0 0F1 0B1", "1F0 1F1 1B0 1B1"}),
                    chainGraph(2, false)),
            "schedule deadlocks: rank 0 waits for 1B0 from rank 1, rank 1 "
            "waits for 0F1 from rank 0");
}

// GPipe with an activation ring of one slot that is held until the backward:
// the sender waits for a slot that is never freed.
TEST(Verify, DeadlockOverARingSlot) {
  StageGraph graph = chainGraph(2, false);
  graph.edges[0].lastUse.phase = ActionKind::InputGradient;
  graph.edges[0].depth = 1;
  EXPECT_EQ(errorOf(*generateGPipe({2, 2, false}), graph),
            "schedule deadlocks: rank 0 waits for a slot that 1B0 frees on "
            "rank 1, rank 1 waits for 0F1 from rank 0");
  graph.edges[0].depth = 2;
  EXPECT_EQ(errorOf(*generateGPipe({2, 2, false}), graph), "");
}

TEST(Verify, PictureMarksWhereEachRankStands) {
  EXPECT_EQ(
      pictureOf(
          fromText(2, 3,
                   {"0F0 0B0 0F1 0B1 0F2 0B2", "1F0 1F1 1F2 1B0 1B1 1B2"}),
          chainGraph(2, false)),
      "the steps in brackets:\nrank 0, step 1: 0F0 [0B0] 0F1 0B1 0F2 0B2\n"
      "rank 1, step 1: 1F0 [1F1] 1F2 1B0 1B1 1B2");
}

TEST(Verify, PictureOfOneRankMarksBothActions) {
  EXPECT_EQ(pictureOf(fromText(1, 8,
                               {"0F0 0F1 0F2 0F3 0F4 0F5 0F6 0F7 0B0 0B1 0B2 "
                                "0B3 0B4 0B5 0B6 0B7 0B0"}),
                      chainGraph(1, false)),
            "the steps in brackets:\nrank 0, step 8 and 16: ... 0F4 0F5 0F6 "
            "0F7 [0B0] 0B1 0B2 0B3 0B4 "
            "0B5 0B6 0B7 [0B0]");
}

// A stash is on one rank, so the forward and its backward must be, too.
TEST(Verify, PhasesOfOneMicrobatchOnTwoRanks) {
  Schedule schedule = fromText(2, 1, {"0F0 1B0 0B0", "1F0"});
  EXPECT_EQ(errorOf(schedule, chainGraph(2, false)),
            "rank 0 runs 1B0 of a microbatch that rank 1 keeps; run all of it "
            "on one rank");
}

TEST(Verify, TwinsRunDifferentMicrobatches) {
  EXPECT_EQ(errorOf(fromText(2, 2, {"0F0 1F1 1B1 0B0", "1F0 0F1 1B0 0B1"}),
                    chainGraph(2, false)),
            "");
  EXPECT_EQ(errorOf(fromText(2, 2, {"1F1 0F0 1B1 0B0", "1F0 0F1 1B0 0B1"}),
                    chainGraph(2, false)),
            "schedule deadlocks: rank 0 waits for 0F1 from rank 1, rank 1 "
            "waits for 0F0 from rank 0");
}

TEST(Verify, RecomputationLiesBetweenForwardAndBackward) {
  StageGraph graph = chainGraph(1, false);
  EXPECT_EQ(errorOf(fromText(1, 1, {"0F0 0R0 0I0 0W0"}), graph), "");
  EXPECT_EQ(errorOf(fromText(1, 1, {"0F0 0I0 0R0 0W0"}), graph),
            "rank 0 runs 0I0 before 0R0, which it waits for");
  EXPECT_EQ(errorOf(fromText(1, 1, {"0R0 0F0 0B0"}), graph),
            "rank 0 runs 0R0 before 0F0, which it waits for");
  EXPECT_EQ(errorOf(fromText(1, 1, {"0F0 0R0 0R0 0B0"}), graph),
            "schedule runs 0R0 twice on rank 0, steps 1 and 2");
}

TEST(Verify, UpdatesAreForAllOrNone) {
  StageGraph graph = chainGraph(2, false);
  EXPECT_EQ(errorOf(fromText(2, 1, {"0F0 0B0 0U", "1F0 1B0 1U"}), graph), "");
  EXPECT_EQ(errorOf(fromText(2, 1, {"0F0 0B0 0U", "1F0 1B0"}), graph),
            "schedule lacks 1U on rank 1, which has gradients of the stage, "
            "but updates others");
  EXPECT_EQ(errorOf(fromText(2, 1, {"0F0 0B0 0U 1U", "1F0 1B0 1U"}), graph),
            "schedule runs 1U on rank 0, which has no gradients of the stage");
  EXPECT_EQ(errorOf(fromText(2, 1, {"0F0 0U 0B0", "1F0 1B0 1U"}), graph),
            "rank 0 runs 0U before 0B0, which it waits for");
}

/// Pairs the last action of rank 0 with the one before it.
static Schedule pairAtEnd(int64_t stages, int64_t microbatches,
                          const std::vector<std::string> &ranks) {
  Schedule schedule = fromText(stages, microbatches, ranks);
  schedule.ranks.front().back().paired = true;
  return schedule;
}

TEST(Verify, PairIsAForwardAndABackward) {
  StageGraph graph = chainGraph(1, false);
  EXPECT_EQ(errorOf(pairAtEnd(1, 2, {"0F0 0F1 0B0 0B1"}), graph),
            "0B1 on rank 0 cannot be a pair with 0B0: a pair is a forward and "
            "then a backward, B or I");
  EXPECT_EQ(errorOf(pairAtEnd(1, 2, {"0F0 0B0 0F1 0B1"}), graph),
            "0B1 on rank 0 cannot be a pair with 0F1: the backward needs this "
            "very forward");
  Schedule first = fromText(1, 1, {"0F0 0B0"});
  first.ranks[0][0].paired = true;
  EXPECT_EQ(errorOf(first, graph), "0F0 on rank 0 is a pair with the action "
                                   "before it, but is the first of its rank");
}

// Unpaired, 0F1 lets the next stage compute what 0B0 needs. A pair starts only
// when the inputs of both are ready.
TEST(Verify, PairStartsAsOne) {
  Schedule schedule = fromText(2, 2, {"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"});
  EXPECT_EQ(errorOf(schedule, chainGraph(2, false)), "");
  schedule.ranks[0][2].paired = true;
  EXPECT_EQ(errorOf(schedule, chainGraph(2, false)),
            "schedule deadlocks: rank 0 waits for 1B0 from rank 1, rank 1 "
            "waits for 0F1 from rank 0");
}

// One edge has two routes: microbatch 0 from rank 0 to 1, microbatch 1 from 1
// to 0. Each route has its own slot.
TEST(Verify, TwinsHaveARingForEachRoute) {
  StageGraph graph = chainGraph(2, true);
  graph.edges[0].depth = 1;
  EXPECT_EQ(errorOf(fromText(2, 2, {"0F0 1F1", "0F1 1F0"}), graph), "");
  EXPECT_EQ(errorOf(fromText(2, 3, {"0F0 0F2 1F1", "0F1 1F0 1F2"}), graph), "");
}

// Numbers of stages and microbatches may be far above the number of actions.
TEST(Verify, SizesBeyondTheActions) {
  Schedule schedule = fromText(1, 1, {"0F0 0F2 0F1"});
  schedule.stages = schedule.microbatches = int64_t(1) << 62;
  EXPECT_EQ(errorOf(schedule, {schedule.stages, true, {}}),
            "schedule lacks 0F3");
  schedule.microbatches = 0;
  EXPECT_EQ(errorOf(schedule, {schedule.stages, true, {}}),
            "a schedule needs a stage and a microbatch at least, but has "
            "4611686018427387904 and 0");
}
