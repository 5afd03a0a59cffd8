//===- ParseNumberTest.cpp - numbers in text ------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Support/ParseNumber.h"
#include <gtest/gtest.h>

using namespace stagewright;

TEST(ParseNumber, ReadsAllOfTheText) {
  EXPECT_EQ(parseNumber("-12"), -12);
  EXPECT_EQ(parseNumber<double>("1.5e3"), 1500.0);
  for (const char *text : {"", "x", "12x", " 12", "+1", "9223372036854775808"})
    EXPECT_EQ(parseNumber(text), std::nullopt) << text;
}

TEST(ParseNumber, TakesTheNumberAtTheFront) {
  std::string_view text = "12,x";
  EXPECT_EQ(takeNumber(text), 12);
  EXPECT_EQ(text, ",x");
  EXPECT_EQ(takeNumber(text), std::nullopt);
  EXPECT_EQ(text, ",x");
}
