//===- MemoryTest.cpp - memory of a schedule ------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Memory.h"
#include "FromText.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/Verify.h"
#include <gtest/gtest.h>

using namespace stagewright;
using stagewright::testing::fromText;

/// Equal stages with an activation of 10. Of that 4 are kept from I to W, and 1
/// is the input kept for a recomputation.
static ScheduleProblem problemOf(Placement placement, int64_t ranks,
                                 int64_t chunks, int64_t microbatches) {
  ScheduleProblem problem;
  problem.placement = placement;
  problem.ranks = ranks;
  problem.chunks = chunks;
  problem.microbatches = microbatches;
  problem.stages.assign(problem.numStages(),
                        {Seconds(1), Seconds(1), Seconds(1), 10, 4, 1});
  problem.hops.assign(problem.numStages() - 1, Seconds());
  return problem;
}

static std::string errorOf(const Schedule &schedule,
                           const ScheduleProblem &problem) {
  Status status = verify(
      schedule, chainGraph(schedule.stages, problem.forwardOnly), problem);
  return status ? "" : status.error().message;
}

/// The memory peak of an order of one stage on one rank.
static double peakOf(const std::string &order, int64_t microbatches) {
  return memoryPeaks(fromText(1, microbatches, {order}),
                     problemOf(Placement::Linear, 1, 1, microbatches))[0]
      .value;
}

TEST(Memory, InputGradientGivesBackAllButWhatIsKept) {
  EXPECT_EQ(peakOf("0F0 0B0 0F1 0B1", 2), 10);
  EXPECT_EQ(peakOf("0F0 0I0 0F1 0I1 0W0 0W1", 2), 14);
  EXPECT_EQ(peakOf("0F0 0F1 0I0 0I1 0W0 0W1", 2), 20);
}

TEST(Memory, RecomputationHoldsTheInputInBetween) {
  EXPECT_EQ(peakOf("0F0 0F1 0F2 0R0 0B0 0R1 0B1 0R2 0B2", 3), 12);
  EXPECT_EQ(peakOf("0F0 0F1 0F2 0R0 0B0 0B1 0R2 0B2", 3), 21);
}

TEST(Memory, PeakSaysItsFirstStep) {
  Schedule schedule = fromText(1, 3, {"0F0 0F1 0B0 0F2 0B1 0B2"});
  MemoryPeak peak =
      memoryPeaks(schedule, problemOf(Placement::Linear, 1, 1, 3))[0];
  EXPECT_EQ(peak.value, 20);
  EXPECT_EQ(peak.step, 1u);
}

TEST(Memory, ForwardOnlyHoldsOneAtATime) {
  ScheduleProblem problem = problemOf(Placement::Linear, 1, 1, 2);
  problem.forwardOnly = true;
  EXPECT_EQ(memoryPeaks(fromText(1, 2, {"0F0 0F1"}), problem)[0].value, 10);
}

TEST(Memory, ErrorSaysByHowMuchAndWhatWouldDo) {
  ScheduleProblem problem = problemOf(Placement::Linear, 2, 1, 4);
  Schedule schedule = *generateGPipe({2, 4, false});
  problem.memory = 25;
  EXPECT_EQ(errorOf(schedule, problem),
            "rank 0 holds 30 as 0F2 starts (step 2), 5 more than its memory of "
            "25; this order needs 40");
  EXPECT_EQ(verifyMemory(schedule, problem).error().notes.front(),
            "the steps in brackets:\nrank 0, step 2: 0F0 0F1 [0F2] 0F3 0B0 0B1 "
            "0B2 ...");
  problem.memory = 40;
  EXPECT_EQ(errorOf(schedule, problem), "");
  // The memory that the error suggests is the minimum.
  problem.memory = 39.99;
  EXPECT_NE(errorOf(schedule, problem), "");
}

// In double precision 0.1 + 0.1 + 0.1 is more than 0.3.
TEST(Memory, SumsNeedNotBeExact) {
  ScheduleProblem problem = problemOf(Placement::Linear, 1, 1, 3);
  problem.stages[0].activation = problem.stages[0].kept = 0.1;
  problem.stages[0].recomputeInput = 0;
  problem.memory = 0.3;
  EXPECT_EQ(errorOf(*generateGPipe({1, 3, false}), problem), "");
}

TEST(Memory, StageOnAnotherRankThanThePlacementSays) {
  ScheduleProblem problem = problemOf(Placement::V, 2, 2, 1);
  EXPECT_EQ(
      errorOf(fromText(4, 1, {"0F0 3F0 3B0 0B0", "1F0 2F0 2B0 1B0"}), problem),
      "");
  EXPECT_EQ(
      errorOf(fromText(4, 1, {"0F0 2F0 2B0 0B0", "1F0 3F0 3B0 1B0"}), problem),
      "rank 0 runs 2F0, but placement v has stage 2 on rank 1");
  problem = problemOf(Placement::Twin, 3, 1, 1);
  EXPECT_EQ(errorOf(fromText(3, 1, {"2F0 2B0", "1F0 1B0", "0F0 0B0"}), problem),
            "");
  EXPECT_EQ(errorOf(fromText(3, 1, {"2F0 2B0", "0F0 0B0", "1F0 1B0"}), problem),
            "rank 1 runs 0F0, but placement twin has stage 0 on rank 0 or 2");
}

TEST(Memory, OtherSizesThanTheCosts) {
  EXPECT_EQ(errorOf(fromText(1, 1, {"0F0 0B0"}),
                    problemOf(Placement::Linear, 2, 1, 3)),
            "the schedule is for 1 ranks, 1 stages and 1 microbatches, the "
            "costs for 2, 2 and 3");
}
