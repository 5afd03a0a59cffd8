//===- ScheduleTest.cpp - the text form of actions ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Schedule.h"
#include <gtest/gtest.h>

using namespace stagewright;

TEST(Schedule, ActionsRoundTrip) {
  for (const char *text : {"0F0", "12B345", "1I2", "1W2", "3R4", "2U"}) {
    Result<Action> action = parseAction(text);
    ASSERT_TRUE(action) << text;
    EXPECT_EQ(toString(*action), text);
  }
  EXPECT_EQ(*parseAction("12B345"), (Action{ActionKind::Backward, 12, 345}));
}

TEST(Schedule, ErrorsShowTheAction) {
  for (std::string wrong :
       {"F0", "0X0", "0F", "0F0x", "-1F0", "0U3", "99999999999999999999F0"}) {
    Result<Action> action = parseAction(wrong);
    ASSERT_FALSE(action) << wrong;
    EXPECT_EQ(action.error().message.find("'" + wrong + "' is not an action"),
              0u);
  }
}

TEST(Schedule, UpdateHasNoMicrobatch) {
  EXPECT_EQ(parseAction("0U0").error().message,
            "'0U0' is not an action; an update has no microbatch, write 0U");
}
