//===- VerifyTest.cpp - what a wrong schedule is told ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Verify.h"
#include "stagewright/Scheduling/Generators.h"
#include <gtest/gtest.h>

using namespace stagewright;

/// A schedule from the text of each rank's order.
static Schedule fromText(int64_t stages, int64_t microbatches,
                         const std::vector<std::string> &ranks) {
  Schedule schedule{"test", stages, microbatches, {}};
  for (const std::string &rank : ranks)
    schedule.ranks.push_back(*parseOrder(rank));
  return schedule;
}

static std::string errorOf(const Schedule &schedule, const StageGraph &graph) {
  Status status = verify(schedule, graph);
  return status ? "" : status.error().message;
}

TEST(Verify, SplitBackwardIsComplete) {
  EXPECT_EQ(
      errorOf(fromText(2, 1, {"0F0 0B0", "1F0 1I0 1W0"}), chainGraph(2, false)),
      "");
}

TEST(Verify, MissingAction) {
  EXPECT_EQ(errorOf(fromText(1, 2, {"0F0 0F1 0B0 0I1"}), chainGraph(1, false)),
            "schedule lacks 0W1");
}

TEST(Verify, ActionTwice) {
  EXPECT_EQ(errorOf(fromText(1, 1, {"0F0 0B0 0W0"}), chainGraph(1, false)),
            "schedule runs 0W0 on rank 0 although it runs 0B0 on rank 0");
}

TEST(Verify, ActionThatDoesNotExist) {
  EXPECT_EQ(errorOf(fromText(1, 1, {"0F0 0B0 0F7"}), chainGraph(1, false)),
            "action 0F7 on rank 0 does not exist; there are 1 stages and 1 "
            "microbatches");
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
