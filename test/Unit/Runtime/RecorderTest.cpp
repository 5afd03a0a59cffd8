//===- RecorderTest.cpp - what is kept of a long run ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Recording/Recorder.h"
#include "Artifact/Manifest.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace stagewright::runtime {

/// A profile has the last calls of nodes and the last steps, so that both are
/// of the same part of a run.
TEST(Recorder, KeepsTheLastSteps) {
  Manifest manifest;
  manifest.ranks.resize(1);
  Recorder recorder(manifest, 0, 1, /*trace=*/0, /*profile=*/true);
  for (int64_t step = 0; step < 10'000; ++step) {
    recorder.begin();
    recorder.endStep(step, step + 1);
  }
  std::span<const Recorder::StepTimes> steps = recorder.steps();
  auto [first, last] = std::minmax_element(
      steps.begin(), steps.end(),
      [](const auto &a, const auto &b) { return a.start < b.start; });
  EXPECT_EQ(last->start, 9'999);
  EXPECT_EQ(first->start, 10'000 - int64_t(steps.size()));
}

} // namespace stagewright::runtime
