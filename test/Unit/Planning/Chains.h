//===- Chains.h - the chains of the prototype -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// DAPPLE's profiles as chains on the clusters of planners.md 1.8 and C, in the
// prototype's cost model.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_PLANNING_CHAINS_H
#define STAGEWRIGHT_TEST_PLANNING_CHAINS_H

#include "stagewright/Planning/Formats.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace stagewright::testing {

inline std::string readShared(const std::string &path) {
  std::ifstream file(std::string(STAGEWRIGHT_SHARED "/") + path);
  EXPECT_TRUE(file.good()) << path << " is missing";
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The chain `name` on `cluster` without a limit on memory; no overlap of the
/// all-reduce, no NIC shared in time, and none of the orders that the prototype
/// does not have.
inline Problem prototypeProblem(const std::string &name, Cluster cluster,
                                int64_t microbatches) {
  Result<Problem> problem =
      readChain(readShared("data/chains/" + name + ".chain"), name);
  EXPECT_TRUE(problem.ok());
  for (Device &device : cluster.devices)
    device.memory = Bytes(int64_t(1) << 50);
  EXPECT_TRUE(placeOn(*problem, cluster).ok());
  problem->microbatches = microbatches;
  problem->model.overlapAllReduce = false;
  problem->model.sharedNics = false;
  problem->orders = {ExecutionOrder::Window, ExecutionOrder::Greedy,
                     ExecutionOrder::CapA, ExecutionOrder::CapB,
                     ExecutionOrder::GPipe};
  return *problem;
}

} // namespace stagewright::testing

#endif // STAGEWRIGHT_TEST_PLANNING_CHAINS_H
