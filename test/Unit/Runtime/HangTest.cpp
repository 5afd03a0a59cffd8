//===- HangTest.cpp - ranks that hang or fail on request ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Host.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

namespace {

/// Sets faults in the environment variable during its lifetime.
struct Asked {
  explicit Asked(const char *what) { setenv("STAGEWRIGHT_INJECT", what, 1); }
  ~Asked() { unsetenv("STAGEWRIGHT_INJECT"); }
};

std::string errorOf(Host &host) { return host.runError(); }

TEST(Faults, ARankThatHangsEndsTheStep) {
  Asked asked("1:1:2:hang");
  sw_options options = Host::defaults();
  options.deadline = 0.3;
  Host host = Host::pipeline(options);
  host.run();
  auto begin = std::chrono::steady_clock::now();
  std::string error = errorOf(host);
  std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - begin;
  // Each microbatch has two actions: the third is the forward of microbatch 1.
  EXPECT_EQ(error.find("rank 1: has not moved for 0.3 s: action 1F1"), 0U)
      << error;
  EXPECT_NE(error.find("; rank 0: action 0B1 waits for microbatch 1 of channel "
                       "'dy' from rank 1"),
            std::string::npos)
      << error;
  EXPECT_LT(passed.count(), 5);
  EXPECT_NE(errorOf(host).find("still hangs in an earlier step"),
            std::string::npos);
}

TEST(Faults, AStepThatRaisedRunsAgain) {
  Asked asked("0:1:3:raise");
  Host host = Host::pipeline();
  host.run();
  EXPECT_EQ(errorOf(host).find("rank 0: an error was injected"), 0U);
  EXPECT_EQ(errorOf(host), "");
}

TEST(Faults, AResultThatIsNoNumberIsNamed) {
  Asked asked("0:1:0:nan");
  sw_options options = Host::defaults();
  options.finite = 1;
  Host host = Host::pipeline(options);
  host.run();
  EXPECT_EQ(errorOf(host), "rank 1: loss 'loss' is infinite or not a number");
}

TEST(Faults, NumbersMayBeIgnored) {
  Asked asked("0:0:0:nan");
  Host host = Host::pipeline();
  EXPECT_EQ(errorOf(host), "");
}

TEST(Faults, TheDeadlineFollowsTheSteps) {
  Host host = Host::pipeline();
  EXPECT_EQ(sw_step_deadline(host.step.get()), 60);
  host.run();
  EXPECT_EQ(sw_step_deadline(host.step.get()), 2);
}

} // namespace
