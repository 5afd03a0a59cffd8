//===- PacedSendsTest.cpp - sends that keep to a rate ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/PacedSends.h"

#include <gtest/gtest.h>
#include <vector>

namespace stagewright::runtime {
namespace {

constexpr int64_t second = 1'000'000'000;
using Sends = PacedSends<int>;

/// Holds for every window of time, however irregular the calls are.
TEST(PacedSends, StartAtMostTheRateAndABurst) {
  constexpr double rate = 50e6;
  constexpr int64_t part = 100'000 / 64 * 64;
  EXPECT_EQ(Sends::partBytes(rate), part);
  Sends sends(rate);
  for (int i = 0; i < 600; ++i)
    sends.add(i, part);
  struct Started {
    int64_t at;
    int number;
  };
  std::vector<Started> started;
  int64_t now = 5 * second;
  for (int call = 0; !sends.isEmpty(); ++call) {
    sends.advance(now, [&](int number) { started.push_back({now, number}); });
    now += (call % 7 == 3 ? 30 : 1) * second / 2000; // 0.5 ms, at times 15 ms.
  }
  ASSERT_EQ(started.size(), 600u);
  for (size_t i = 0; i < started.size(); ++i) {
    EXPECT_EQ(started[i].number, int(i));
    for (size_t j = i; j < started.size(); ++j)
      EXPECT_LE(double(part) * double(j - i + 1),
                rate * double(started[j].at - started[i].at) / second +
                    4 * double(part) + 1);
  }
}

/// Calls that are late by less than the burst lose no time.
TEST(PacedSends, KeepUpWithTheRate) {
  constexpr double rate = 12.5e6;
  Sends sends(rate);
  int64_t part = Sends::partBytes(rate), begun = 0;
  for (int i = 0; i < 500; ++i)
    sends.add(i, part);
  int64_t now = 0;
  for (; !sends.isEmpty(); now += second / 200)
    sends.advance(now, [&](int) { ++begun; });
  EXPECT_EQ(begun, 500);
  EXPECT_LE(double(now) / second, 500 * double(part) / rate + 0.005);
}

/// A bucket that nothing was taken from for long holds no more than a burst.
TEST(PacedSends, DoNotSaveUpTheRateOfAnIdleTime) {
  constexpr double rate = 50e6;
  Sends sends(rate);
  int64_t part = Sends::partBytes(rate), begun = 0;
  auto startAt = [&](int64_t now) {
    sends.advance(now, [&](int) { ++begun; });
  };
  sends.add(0, part);
  startAt(second);
  EXPECT_EQ(begun, 1);
  for (int i = 0; i < 20; ++i)
    sends.add(i, part);
  startAt(1000 * second);
  EXPECT_EQ(begun, 1 + 4);
}

TEST(PacedSends, PartsOfFastConnectionsHaveALimit) {
  EXPECT_EQ(Sends::partBytes(1e300), 1 << 30);
}

TEST(PacedSends, PartsOfSlowConnectionsAreNotTiny) {
  EXPECT_EQ(Sends::partBytes(1000), 16 << 10);
  Sends sends(1000);
  sends.add(0, 16 << 10);
  int begun = 0;
  sends.advance(0, [&](int) { ++begun; });
  EXPECT_EQ(begun, 1);
}

} // namespace
} // namespace stagewright::runtime
