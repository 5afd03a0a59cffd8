//===- DilationTest.cpp - slowed-down ranks, paced actions ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Threads/Dilation.h"

#include "Recording/Recorder.h"
#include "SilentTransport.h"
#include "stagewright/Runtime/Error.h"

#include <ctime>
#include <gtest/gtest.h>
#include <thread>

namespace stagewright::runtime {
namespace {

/// Counts calls; no messages.
class Quiet : public SilentTransport {
public:
  void progress() noexcept override { ++calls; }
  void fail(int64_t, const std::string &) override { failed = true; }

  int calls = 0;
};

double threadSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

/// Works for `seconds` of CPU time.
void work(double seconds) {
  double end = threadSeconds() + seconds;
  while (threadSeconds() < end)
    ;
}

double secondsSince(int64_t start) { return double(now() - start) * 1e-9; }

/// Messages make progress while the rank sleeps. On a busy machine waiting for
/// a core may leave no time to sleep, so trials go on until the rank slept in
/// one.
TEST(Dilation, ANodeTakesTheFactorTimesItsCpuTime) {
  Quiet transport;
  Dilation dilation(4);
  for (int trial = 0; trial < 100 && transport.calls < 10; ++trial) {
    transport.calls = 0;
    dilation.beginAction('F', 0);
    int64_t start = now();
    dilation.beginNode();
    work(0.02);
    dilation.endNode(transport);
    EXPECT_GE(secondsSince(start), 0.08);
  }
  EXPECT_GE(transport.calls, 10);
}

TEST(Dilation, WaitingForACoreIsNotMultiplied) {
  Quiet transport;
  Dilation dilation(100);
  dilation.beginAction('F', 0);
  int64_t start = now();
  dilation.beginNode();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  dilation.endNode(transport);
  EXPECT_LT(secondsSince(start), 10);
}

/// If a sleep ends late, the next one is shorter by that time. So short nodes
/// too take the factor times their CPU time, which includes reading the clocks.
/// Other programs may use this machine, so trials go on until one is
/// undisturbed.
TEST(Dilation, ManyShortNodesTakeTheFactorTimesTheirCpuTime) {
  Quiet transport;
  Dilation dilation(5);
  double least = 1e9;
  for (int trial = 0; trial < 100 && least > 1.25; ++trial) {
    dilation.beginAction('F', 0);
    int64_t start = now();
    double used = 0;
    for (int node = 0; node < 500; ++node) {
      double begun = threadSeconds();
      dilation.beginNode();
      work(20e-6);
      double done = threadSeconds();
      dilation.endNode(transport);
      used += done - begun;
    }
    double seconds = secondsSince(start);
    EXPECT_GE(seconds, 500 * 20e-6 * 5 * 0.98);
    least = std::min(least, seconds / (5 * used));
  }
  EXPECT_LE(least, 1.25);
}

TEST(Dilation, AFailureElsewhereEndsTheSleep) {
  Quiet transport;
  Dilation dilation(1e6);
  dilation.beginAction('F', 0);
  dilation.beginNode();
  work(0.01); // Ten thousand seconds of sleep.
  transport.fail(0, "");
  EXPECT_THROW(dilation.endNode(transport), Stopped);
}

TEST(Dilation, OnlyNamedRanksAreSlowedDown) {
  EXPECT_TRUE(Dilation::of("2:1.48,3:2", "", 2, 4));
  EXPECT_TRUE(Dilation::of("2:1.48,3:2", "", 3, 4));
  EXPECT_FALSE(Dilation::of("2:1.48,3:2", "", 0, 4));
  EXPECT_FALSE(Dilation::of("", "", 0, 4));
  EXPECT_FALSE(Dilation::of("0:1", "", 0, 4));
}

TEST(Dilation, APaceSetsTheTimeOfActions) {
  Quiet transport;
  auto dilation = Dilation::of("", "F:20ms,jitter:2,seed:5", 1, 2);
  auto secondsOf = [&](int32_t kind, int64_t m) {
    dilation->beginAction(kind, m);
    int64_t start = now();
    for (int node = 0; node < 3; ++node) {
      dilation->beginNode();
      dilation->endNode(transport);
    }
    return secondsSince(start);
  };
  Jitter jitter{2, 5};
  for (int64_t m = 0; m < 4; ++m)
    EXPECT_GE(secondsOf('F', m), 0.02 * (1 + jitter.of('F', m, 1, 2)));
  EXPECT_LT(secondsOf('B', 0), 10);
  EXPECT_EQ(Pace::parse("B:0.5ms").seconds['B'], 0.0005);
}

class BadPace : public testing::TestWithParam<const char *> {};

TEST_P(BadPace, IsNamedWithAWayOut) {
  try {
    Dilation::of("", std::string("F:5ms,") + GetParam(), 0, 4);
    FAIL() << "accepted " << GetParam();
  } catch (const Error &thrown) {
    EXPECT_EQ(
        thrown.what(),
        std::string("pace has '") + GetParam() +
            "', expected the milliseconds of a kind of action, such as F:5ms, "
            "or hop:1ms, jitter:0.5, seed:7 or sends, with commas "
            "between several");
  }
}
INSTANTIATE_TEST_SUITE_P(Dilation, BadPace,
                         testing::Values("F:5", "X:5ms", "hop:1", "jitter:-1",
                                         "jitter", "seed:x", "F:-1ms", "5ms",
                                         "sends:1"));

/// With `sends` nodes take as long as without it.
TEST(Dilation, PacedSendsChangeNoAction) {
  EXPECT_TRUE(Pace::parse("F:5ms,sends").sends);
  EXPECT_FALSE(Pace::parse("F:5ms").sends);
  EXPECT_EQ(Dilation::of("", "sends", 0, 4), nullptr);
  EXPECT_NE(Dilation::of("", "sends,F:5ms", 0, 4), nullptr);
}

class Refused : public testing::TestWithParam<std::array<const char *, 2>> {};

TEST_P(Refused, IsNamedWithAWayOut) {
  auto [text, error] = GetParam();
  try {
    Dilation::of(text, "", 0, 4);
    FAIL() << "accepted " << text;
  } catch (const Error &thrown) {
    EXPECT_STREQ(thrown.what(), error);
  }
}
INSTANTIATE_TEST_SUITE_P(
    Dilation, Refused,
    testing::Values(
        std::array{"2",
                   "dilate has '2', expected RANK:FACTOR, such as 2:1.48, with "
                   "commas between several"},
        std::array{"2:fast", "dilate has '2:fast', expected RANK:FACTOR, such "
                             "as 2:1.48, with commas between several"},
        std::array{"1:2,,",
                   "dilate has '', expected RANK:FACTOR, such as 2:1.48, "
                   "with commas between several"},
        std::array{"1:2x", "dilate has '1:2x', expected RANK:FACTOR, such "
                           "as 2:1.48, with commas between several"},
        std::array{"4:2", "dilate has '4:2', but the artifact has no rank 4; "
                          "expected 0 to 3"},
        std::array{"-1:2", "dilate has '-1:2', but the artifact has no rank "
                           "-1; expected 0 to 3"},
        std::array{"1:0.5", "dilate has '1:0.5', but the factor is 0.5, "
                            "expected 1 to 1000000; to make a rank faster than "
                            "others, dilate the others"},
        std::array{"1:nan", "dilate has '1:nan', but the factor is nan, "
                            "expected 1 to 1000000; to make a rank faster than "
                            "others, dilate the others"},
        std::array{"1:2,1:3", "dilate gives rank 1 the factors 2 and 3; give "
                              "it one"}));

} // namespace
} // namespace stagewright::runtime
