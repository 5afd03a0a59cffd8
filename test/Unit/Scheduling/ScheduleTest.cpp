//===- ScheduleTest.cpp - the text form of actions ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Schedule.h"
#include <gtest/gtest.h>

using namespace stagewright;

TEST(Schedule, TextRoundTrips) {
  const char *text = "0F0 12B345 1I2 1W2 3R4 2U";
  Result<Order> order = parseOrder(text);
  ASSERT_TRUE(order);
  ASSERT_EQ(order->size(), 6u);
  EXPECT_EQ((*order)[1], (Action{ActionKind::Backward, 12, 345}));
  EXPECT_EQ(toString(*order), text);
}

TEST(Schedule, ReadsAnyWhiteSpace) {
  EXPECT_EQ(toString(*parseOrder("\n 0F0\t0B0  \n")), "0F0 0B0");
  EXPECT_TRUE(parseOrder("")->empty());
}

TEST(Schedule, ErrorsShowTheAction) {
  for (const char *wrong :
       {"F0", "0X0", "0F", "0F0x", "-1F0", "0U3", "99999999999999999999F0"}) {
    Result<Order> order = parseOrder(std::string("0F0 ") + wrong);
    ASSERT_FALSE(order) << wrong;
    EXPECT_EQ(order.error().message.find("action 2: '" + std::string(wrong) +
                                         "' is not an action"),
              0u);
  }
}

TEST(Schedule, PairsRoundTrip) {
  const char *text = "0F0 (3F1;4B0)OVERLAP_F_B (3F2;4I1)OVERLAP_F_B 4W1";
  Result<Order> order = parseOrder(text);
  ASSERT_TRUE(order) << order.error().message;
  ASSERT_EQ(order->size(), 6u);
  EXPECT_FALSE((*order)[1].paired);
  EXPECT_EQ((*order)[2], (Action{ActionKind::Backward, 4, 0, true}));
  EXPECT_EQ(toString(*order), text);
}

TEST(Schedule, WrongPairsAreErrors) {
  for (const char *wrong :
       {"(3F1)OVERLAP_F_B", "(3F1;4B0)", "(3F1;4B0OVERLAP_F_B", "()",
        "(3B1;4F0)OVERLAP_F_B", "(3F1;4W0)OVERLAP_F_B", "(3F1;3B1)OVERLAP_F_B",
        "(3F1;4B0)OVERLAP_F_B2", "(3F1;4B0;4W0)OVERLAP_F_B", ")3F1;4B0("}) {
    Result<Order> order = parseOrder(std::string("0F0 ") + wrong);
    ASSERT_FALSE(order) << wrong;
    EXPECT_EQ(order.error().message.find("action 2: '"), 0u)
        << order.error().message;
  }
}

TEST(Schedule, UpdateHasNoMicrobatch) {
  EXPECT_EQ(parseAction("0U0").error().message,
            "'0U0' is not an action; an update has no microbatch, write 0U");
}
