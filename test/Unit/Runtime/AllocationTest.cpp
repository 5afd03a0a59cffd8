//===- AllocationTest.cpp - nothing is allocated while a step runs --------===//
//
// Part of the Stagewright project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Host.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <unistd.h>

namespace {

/// Whether the interposer stands before the runtime in this process.
bool preloaded() {
  const char *preload = std::getenv("LD_PRELOAD");
  return preload &&
         std::string(preload).find("interposer") != std::string::npos;
}

/// Runs this binary again, only `test`, with the interposer; what it printed.
std::string rerun(const std::string &test) {
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
    return "";
  std::string command = std::string("GTEST_OUTPUT= LD_PRELOAD=") + INTERPOSER +
                        " " + self + " --gtest_filter=" + test + " 2>&1";
  std::string output;
  FILE *pipe = popen(command.c_str(), "r");
  char line[512];
  while (pipe && fgets(line, sizeof(line), pipe))
    output += line;
  if (pipe)
    pclose(pipe);
  return output;
}

void runThreeSteps(Host host) {
  for (int i = 0; i < 3; ++i)
    host.run();
}

void expectNoAllocation(const std::string &test) {
  std::string output = rerun(test);
  EXPECT_NE(output.find("step 2: 0 allocations"), std::string::npos) << output;
  EXPECT_NE(output.find("step 3: 0 allocations"), std::string::npos) << output;
}

TEST(Allocation, NothingInSecondStep) {
  if (*SANITIZED)
    GTEST_SKIP() << "sanitizers allocate for themselves";
  if (preloaded())
    return runThreeSteps(Host::pipeline());
  expectNoAllocation("Allocation.NothingInSecondStep");
}

TEST(Allocation, NothingInSecondStepWithContractionsAndRecording) {
  if (*SANITIZED)
    GTEST_SKIP() << "sanitizers allocate for themselves";
  if (preloaded()) {
    sw_options options = Host::defaults();
    options.trace = options.profile = options.check = 1;
    return runThreeSteps(Host::slices(options));
  }
  expectNoAllocation(
      "Allocation.NothingInSecondStepWithContractionsAndRecording");
}

} // namespace
