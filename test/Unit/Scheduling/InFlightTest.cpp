//===- InFlightTest.cpp - microbatches held between phases ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/InFlight.h"
#include "FromText.h"
#include "stagewright/Scheduling/Verify.h"
#include <gtest/gtest.h>

using namespace stagewright;
using stagewright::testing::fromText;

TEST(InFlight, OneEntryPerRankAndStage) {
  // Rank 0 has two stages: stage 0 has split backwards, stage 1 recomputes.
  Schedule schedule =
      fromText(2, 3,
               {"0F0 0F1 1F0 1F1 1R0 1B0 0I0 1R1 1B1 0I1 0W0 0F2 1F2 1B2 0W1 "
                "0I2 0W2"});
  EXPECT_TRUE(verify(schedule, chainGraph(2, false)));
  EXPECT_EQ(stashPeaks(schedule),
            (std::vector<StashPeak>{{0, 0, 2, 2, 2, 0}, {0, 1, 2, 1, 0, 2}}));
  EXPECT_EQ(stashedMicrobatches(schedule), (std::vector<int64_t>{2, 2}));
}

// Each of the two ranks of a stage holds only its own microbatches.
TEST(InFlight, TwinsAreNotAdded) {
  Schedule schedule = fromText(2, 2, {"0F0 1F1 1B1 0B0", "0F1 1F0 1B0 0B1"});
  EXPECT_EQ(stashedMicrobatches(schedule), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(stashPeaks(schedule).size(), 4u);
}

// The backward of stage 0 is split, that of stage 1 is not. A forward without a
// backward keeps nothing.
TEST(InFlight, LivesGoFromForwardsToBackwards) {
  Schedule schedule =
      fromText(2, 2, {"0F0 1F0 1B0 0I0 0F1 0W0 1F1 0I1 0U 0W1"});
  EXPECT_EQ(stashLives(schedule.ranks[0]),
            (std::vector<StashLife>{
                {0, 0, 0, 3, 5}, {1, 0, 1, 2, 2}, {0, 1, 4, 7, 8}}));
}

TEST(InFlight, NothingWithoutBackward) {
  EXPECT_EQ(stashedMicrobatches(fromText(1, 2, {"0F0 0F1"})),
            (std::vector<int64_t>{0}));
}
