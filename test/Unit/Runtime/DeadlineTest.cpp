//===- DeadlineTest.cpp - how long a step may take ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Runtime/Deadline.h"

#include <gtest/gtest.h>

using namespace stagewright::runtime;

namespace {

TEST(Deadline, TheFirstStepHasMoreTime) {
  Deadline deadline(0);
  EXPECT_EQ(deadline.seconds(), 60);
  deadline.measured(0.001);
  EXPECT_EQ(deadline.seconds(), 2);
}

TEST(Deadline, IsTenTimesTheMedian) {
  Deadline deadline(0);
  for (double seconds : {1.0, 50.0, 1.5, 2.0, 1.25})
    deadline.measured(seconds);
  EXPECT_EQ(deadline.seconds(), 15);
}

TEST(Deadline, FollowsTheLastSteps) {
  Deadline deadline(0);
  for (int i = 0; i < 1000; ++i)
    deadline.measured(9);
  for (int i = 0; i < 64; ++i)
    deadline.measured(0.5);
  EXPECT_EQ(deadline.seconds(), 5);
}

TEST(Deadline, IsWhatTheUserSays) {
  Deadline deadline(0.25);
  EXPECT_EQ(deadline.seconds(), 0.25);
  deadline.measured(7);
  EXPECT_EQ(deadline.seconds(), 0.25);
}

} // namespace
