//===- SearchProblems.h - problems and spaces for searches ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_PLANNING_SEARCHPROBLEMS_H
#define STAGEWRIGHT_TEST_PLANNING_SEARCHPROBLEMS_H

#include "RandomInstances.h"
#include "Search/ChainSpace.h"
#include <gtest/gtest.h>

namespace stagewright::testing {

/// `layers` layers on `devices` devices with random links; some problems have
/// layers that cannot be sliced, devices of two speeds, or few samples.
/// `unalike`: backwards differ among classes and layers, and bounds are looser.
inline Problem randomProblem(Draw &draw, int64_t layers, size_t devices,
                             bool unalike = false) {
  Problem problem;
  problem.cluster = randomCluster(draw, devices, 1, 30);
  if (draw.whole(0, 2) == 0)
    problem.cluster.devices.back().deviceClass = "other";
  problem.microbatches = draw.whole(1, 8);
  for (int64_t l = 0; l < layers; ++l) {
    addLayer(problem, draw.real(1, 3), draw.real(2, 6), draw.real(1, 10),
             draw.real(1, 40));
    if (draw.whole(0, 5) == 0)
      problem.layers.back().sliceable = false;
    for (StageTimes &times : problem.layers.back().times) {
      times.forward = times.forward * draw.real(0.5, 2);
      if (unalike)
        times.inputGradient = times.inputGradient * draw.real(0.2, 5);
    }
  }
  problem.samples = std::max<int64_t>(draw.whole(-3, 8), 0);
  problem.model.halfDuplex = draw.whole(0, 1) == 0;
  problem.model.overlapAllReduce = draw.whole(0, 1) == 0;
  return problem;
}

inline SearchOutcome found(const SearchSpace &space, SearchOptions options) {
  Result<SearchOutcome> outcome = search(space, options);
  EXPECT_TRUE(outcome) << outcome.error().message;
  return outcome ? *outcome : SearchOutcome();
}

/// Counts how often times and bounds are computed.
class Counted : public ChainSpace {
public:
  using ChainSpace::ChainSpace;
  Result<double> time(const Decisions &plan) const override {
    ++calls;
    return ChainSpace::time(plan);
  }
  double bound(const Decisions &prefix) const override {
    ++bounds;
    return ChainSpace::bound(prefix);
  }
  mutable int calls = 0, bounds = 0;
};

} // namespace stagewright::testing

#endif // STAGEWRIGHT_TEST_PLANNING_SEARCHPROBLEMS_H
