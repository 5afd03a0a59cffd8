//===- FaultsTest.cpp - detection of faults, unit tests -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Artifact/Manifest.h"
#include "Faults/Finite.h"
#include "Faults/Injection.h"
#include "Faults/RankPosition.h"
#include "Faults/StallTimer.h"
#include "Processes/FailureReports.h"
#include "stagewright/Runtime/Error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

using namespace stagewright::runtime;

namespace {

constexpr int64_t second = 1'000'000'000;

TEST(StallTimer, AddsUpTheTimeBetweenLooks) {
  StallTimer still;
  for (int64_t time = second; time <= 3 * second; time += second / 10)
    still.tick(time);
  EXPECT_NEAR(still.seconds(), 2, 1e-6);
  still.reset(3 * second);
  EXPECT_EQ(still.seconds(), 0);
}

TEST(StallTimer, DoesNotCountWhatItSleptThrough) {
  StallTimer still;
  still.tick(second);
  still.tick(1000 * second);
  EXPECT_NEAR(still.seconds(), 0.25, 1e-6);
}

template <typename T> int64_t placeOf(sw_dtype type, std::vector<T> values) {
  return findNotFinite(type, reinterpret_cast<std::byte *>(values.data()),
                       int64_t(values.size()));
}

TEST(Finite, FindsTheFirstThatIsNone) {
  constexpr float none = std::numeric_limits<float>::quiet_NaN();
  constexpr float endless = std::numeric_limits<float>::infinity();
  for (size_t place : {0, 1, 4095, 4096, 9998, 9999})
    for (float bad : {none, endless, -endless, -none}) {
      std::vector<float> values(10000, std::numeric_limits<float>::max());
      values[place] = bad;
      EXPECT_EQ(placeOf(SW_F32, values), int64_t(place));
      values.back() = bad;
      EXPECT_EQ(placeOf(SW_F32, values), int64_t(place));
      std::vector<double> wide(values.begin(), values.end());
      EXPECT_EQ(placeOf(SW_F64, wide), int64_t(place));
    }
}

TEST(Finite, LetsNumbersPass) {
  std::vector<float> values = {0.F, -0.F, 1e-45F, -3e38F};
  EXPECT_EQ(placeOf(SW_F32, values), -1);
  EXPECT_EQ(placeOf<double>(SW_F64, {1e308, -1e308, 5e-324}), -1);
  EXPECT_EQ(placeOf<int32_t>(SW_I32, {-1, 0x7f800000}), -1);
  EXPECT_EQ(placeOf<float>(SW_F32, {}), -1);
}

TEST(Finite, KnowsNarrowTypes) {
  // 0x7bff and 0xfc00 are the max and minus infinity of float16, 0x7f7f and
  // 0xff80 those of bfloat16. 0x7f80 is NaN in float16; 0x7bff is finite in
  // bfloat16.
  EXPECT_EQ(placeOf<uint16_t>(SW_F16, {0x7bff, 0xfc00}), 1);
  EXPECT_EQ(placeOf<uint16_t>(SW_F16, {0x7bff, 0x7f80}), 1);
  EXPECT_EQ(placeOf<uint16_t>(SW_BF16, {0x7f7f, 0x7bff}), -1);
  EXPECT_EQ(placeOf<uint16_t>(SW_BF16, {0x7f7f, 0xff80}), 1);
}

FailureReport report(int64_t when, int64_t awaited, bool raised,
                     const char *text) {
  FailureReport report;
  report.when = when, report.awaited = awaited + 1, report.raised = raised;
  report.setText(text);
  return report;
}

const std::vector<std::string> names = {"p0", "p1", "p2"};

TEST(FailureReports, NameWhoDiedAndWhoWaitedForIt) {
  FailureReports reports;
  reports.expect(3);
  EXPECT_EQ(reports.printer(), -1);
  reports.add(1, report(20, 2, false, "1 waits for 2"));
  reports.add(0, report(10, 1, false, "0 waits for 1"));
  EXPECT_EQ(reports.printer(), 0);
  EXPECT_EQ(reports.text(names, {false, false, true}),
            "p2 has died; 1 waits for 2");
  EXPECT_EQ(reports.text(names, {false, false, false}),
            "1 waits for 2; p2 did not answer");
}

TEST(FailureReports, AWaitForSeveralExplainsWhileOneHasNotAnswered) {
  const int64_t some = RankPosition::someRank;
  FailureReports reports;
  reports.expect(3);
  reports.add(0, report(10, 1, false, "0 waits for 1"));
  reports.add(1, report(20, some, false, "1 waits for 0 and 2"));
  EXPECT_EQ(reports.text(names, {false, false, false}),
            "1 waits for 0 and 2; p2 did not answer");
  reports.add(2, report(30, -1, false, "2 computes"));
  EXPECT_EQ(reports.text(names, {false, false, false}), "0 waits for 1");
}

TEST(RankPosition, NamesWhoIsAwaitedForACollective) {
  Manifest manifest;
  manifest.ranks.resize(4);
  for (int64_t ranks : {2, 3}) {
    Collective &gather = manifest.collectives.emplace_back();
    gather.name = "join";
    gather.gathers = true;
    gather.exchanges = ranks == 3;
    for (int64_t rank = 0; rank < ranks; ++rank)
      gather.buckets.push_back({rank, 0, 1, 0});
  }
  Collective &sum = manifest.collectives.emplace_back(manifest.collectives[0]);
  sum.gathers = false;
  RankPosition place;
  place.begin();
  place.beginAction('F', 2, 7);
  EXPECT_EQ(place.awaitedRank(manifest, 0), RankPosition::noRank);
  EXPECT_FALSE(place.awaits(manifest, 0, 1));
  place.wait(RankPosition::ForSum, 0, 0);
  EXPECT_EQ(place.awaitedRank(manifest, 0), 1);
  EXPECT_EQ(place.awaitedRank(manifest, 1), 0);
  EXPECT_EQ(place.describe(manifest, 0),
            "action 2F7 waits for microbatch 7 of gather 'join' from rank 1");
  place.wait(RankPosition::ForSum, 1, 0);
  EXPECT_EQ(place.awaitedRank(manifest, 0), RankPosition::someRank);
  EXPECT_TRUE(place.awaits(manifest, 0, 2));
  EXPECT_FALSE(place.awaits(manifest, 0, 3));
  EXPECT_FALSE(place.awaits(manifest, 0, 0));
  EXPECT_EQ(place.describe(manifest, 1),
            "action 2F7 waits for microbatch 7 of exchange 'join' from ranks "
            "0 and 2");
  place.wait(RankPosition::ForSum, 2, 0);
  EXPECT_EQ(place.describe(manifest, 0),
            "action 2F7 waits for the sum 'join' over ranks");
}

TEST(FailureReports, AnErrorIsMoreThanAWait) {
  FailureReports reports;
  reports.expect(3);
  reports.add(0, report(10, 1, false, "0 waits for 1"));
  reports.add(1, report(30, -1, true, "1 raised"));
  reports.add(2, report(20, -1, true, "2 raised first"));
  EXPECT_EQ(reports.text(names, {false, false, false}), "2 raised first");
}

TEST(Injection, SaysWhatItExpects) {
  for (const char *wrong : {"1", "0:0:0:burn", "0:0:nan", "a:0:0:nan"}) {
    setenv("STAGEWRIGHT_INJECT", wrong, 1);
    try {
      Injection::of(0);
      ADD_FAILURE() << wrong;
    } catch (const Error &error) {
      EXPECT_NE(std::string(error.what()).find("RANK:STEP:ACTION:KIND"),
                std::string::npos);
    }
  }
  setenv("STAGEWRIGHT_INJECT", "1:2:3:nan", 1);
  EXPECT_FALSE(Injection::of(0));
  EXPECT_TRUE(Injection::of(1));
  unsetenv("STAGEWRIGHT_INJECT");
  EXPECT_FALSE(Injection::of(1));
}

} // namespace
