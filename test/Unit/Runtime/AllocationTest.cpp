//===- AllocationTest.cpp - steps do not allocate memory ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Host.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <unistd.h>

#ifdef INTERPOSER

namespace {

/// Runs only `test` in a new process of this binary, with the interposer
/// preloaded; returns the number of allocations in each step.
std::vector<long> rerun(const std::string &test) {
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
    return {};
  std::string report = testing::TempDir() + test + ".json";
  std::remove(report.c_str());
  std::string command = "GTEST_OUTPUT= STAGEWRIGHT_INTERPOSER=" + report +
                        " LD_PRELOAD=" INTERPOSER " " + self +
                        " --gtest_filter=" + test + " > /dev/null";
  if (std::system(command.c_str()) != 0)
    return {};
  std::ifstream in(report);
  return nlohmann::json::parse(in)["allocations"].get<std::vector<long>>();
}

void expectNoAllocation(const std::string &test) {
  std::vector<long> allocations = rerun(test);
  ASSERT_EQ(allocations.size(), 3u);
  EXPECT_EQ(allocations[1], 0);
  EXPECT_EQ(allocations[2], 0);
}

bool isRerun() { return std::getenv("STAGEWRIGHT_INTERPOSER"); }

void runThreeSteps(Host host) {
  for (int i = 0; i < 3; ++i)
    host.run();
}

TEST(Allocation, NothingInSecondStep) {
  if (isRerun())
    return runThreeSteps(Host::pipeline());
  expectNoAllocation("Allocation.NothingInSecondStep");
}

TEST(Allocation, NothingInSecondStepOnThreads) {
  if (isRerun()) {
    sw_options options = Host::defaults();
    options.threads = 3;
    return runThreeSteps(Host::pipeline(options));
  }
  expectNoAllocation("Allocation.NothingInSecondStepOnThreads");
}

TEST(Allocation, NothingInSecondStepThatContractsAndIsRecorded) {
  if (isRerun()) {
    sw_options options = Host::defaults();
    options.trace = options.profile = options.check = 1;
    return runThreeSteps(Host::slices(options));
  }
  expectNoAllocation(
      "Allocation.NothingInSecondStepThatContractsAndIsRecorded");
}

} // namespace

#endif // INTERPOSER
