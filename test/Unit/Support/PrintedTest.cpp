//===- PrintedTest.cpp - numbers as text, in a format ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Support/Printed.h"
#include <gtest/gtest.h>

using namespace stagewright;

TEST(Printed, WritesWhatPrintfWrites) {
  EXPECT_EQ(printed("%.6g of %s", 0.25, "all"), "0.25 of all");
}

TEST(Printed, EndsAfter127Characters) {
  EXPECT_EQ(printed("%200d", 1), std::string(127, ' '));
}
