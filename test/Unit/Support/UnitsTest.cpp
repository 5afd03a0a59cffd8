//===- UnitsTest.cpp - quantities and their text --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Support/Units.h"
#include <gtest/gtest.h>

using namespace stagewright;

TEST(Units, WorkOverRateIsTime) {
  EXPECT_EQ(Flops(6e9) / FlopRate(3e9), Seconds(2));
  EXPECT_EQ(Bytes(10) / Bandwidth(4), Seconds(2.5));
}

TEST(Units, PrintsWithAUnitThatFits) {
  EXPECT_EQ(toString(Bytes(0)), "0 B");
  EXPECT_EQ(toString(Bytes(1023)), "1023 B");
  EXPECT_EQ(toString(Bytes(1536)), "1.5 KiB");
  EXPECT_EQ(toString(Bytes(44238634189)), "41.2 GiB");
  EXPECT_EQ(toString(Seconds(4.12e-5)), "41.2 us");
  EXPECT_EQ(toString(Seconds(0.25)), "250.0 ms");
  EXPECT_EQ(toString(Seconds(3)), "3.0 s");
}

TEST(Units, PrintsTimesThatAreCompared) {
  EXPECT_EQ(precisely(Seconds(1.47896)), "1.479 s");
  EXPECT_EQ(precisely(Seconds(4.125e-5)), "41.25 us");
  EXPECT_EQ(precisely(Seconds(0)), "0 s");
  EXPECT_EQ(precisely(Seconds(2e-10)), "0.2 ns");
}

TEST(Units, ReadsAmountsOfMemory) {
  EXPECT_EQ(*parseBytes("1000"), Bytes(1000));
  EXPECT_EQ(*parseBytes("2.5GiB"), Bytes(2684354560));
  EXPECT_EQ(*parseBytes("64 KB"), Bytes(64000));
  for (const char *wrong : {"", "GiB", "2 gib", "-1", "1e30GiB", "nan"}) {
    Result<Bytes> bytes = parseBytes(wrong);
    ASSERT_FALSE(bytes) << wrong;
    EXPECT_NE(bytes.error().message.find("as in 2.5GiB"), std::string::npos);
  }
}
