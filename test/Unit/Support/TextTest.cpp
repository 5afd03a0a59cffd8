//===- TextTest.cpp - tables for the terminal -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Support/Text.h"
#include <gtest/gtest.h>

using namespace stagewright;

TEST(Text, AlignsColumnsWithoutTrailingBlanks) {
  EXPECT_EQ(alignColumns({{"stage", "time", ""}, {"0", "1.5 s", "##"}}),
            "stage  time\n"
            "0      1.5 s  ##\n");
  EXPECT_EQ(alignColumns({}), "");
}

TEST(Text, PlainNumbersHaveEightDigits) {
  EXPECT_EQ(plainly(33), "33");
  EXPECT_EQ(plainly(0.1 + 0.2), "0.3");
  EXPECT_EQ(plainly(1236.60421), "1236.6042");
  EXPECT_EQ(plainly(4194304), "4194304");
}

TEST(Text, CountedThingsAreInThePlural) {
  EXPECT_EQ(counted(1, "device"), "1 device");
  EXPECT_EQ(counted(0, "device"), "0 devices");
  EXPECT_EQ(counted(2, "linkage class"), "2 linkage classes");
  EXPECT_EQ(counted(3, "microbatch"), "3 microbatches");
  EXPECT_EQ(counted(2, "copy"), "2 copies");
  EXPECT_EQ(counted(1, "copy"), "1 copy");
}
