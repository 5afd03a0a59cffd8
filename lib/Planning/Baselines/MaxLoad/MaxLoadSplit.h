//===- MaxLoadSplit.h - contiguous stages of least max load -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the dynamic program over ideals. With W[{}][all] = 0,
//
//   W[d][J] = min over ideals I that contain J and devices v of d of
//             max(W[d - v][I], load(I \ J on v))
//
// W[d][{}] is the least maximum load of stages on the devices d (DevicePool.h).
// The program adds stages from the last to the first, so that the number of
// microbatches in flight, and so the memory, of each stage is known.
//
// The published program computes the load of every pair of ideals from scratch
// and stores it. Here a walk from each ideal visits each smaller one once (it
// removes nodes by decreasing rank) and updates the load by one node per step.
// A walk ends where the compute of I \ J alone exceeds a known solution, and a
// pair is skipped if the stages left cannot compute the nodes left. Neither
// changes the optimum.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_MAXLOADSPLIT_H
#define STAGEWRIGHT_PLANNING_MAXLOADSPLIT_H

#include "MaxLoad/Ideals.h"

namespace stagewright {

/// Stages of nodes, in an executable order.
struct MaxLoadSplit {
  double load = 0;
  std::vector<std::vector<int>> stages;
  std::vector<size_t> devices; ///< Of each stage.
};

struct SplitRequest {
  const Problem &problem;
  const LoadGraph &graph;
  const std::vector<size_t> &order; ///< Devices by position.
  int64_t most = 1;                 ///< Max number of stages.
  bool exact = false;               ///< Exactly `most` stages, not fewer.
};

/// The split with the least max load, and among those the least sum of squared
/// loads; none if no split fits in memory. An error if there are too many pairs
/// of ideals. `known`: a max load known to be possible, or infinity.
Result<std::optional<MaxLoadSplit>>
splitByIdeals(const SplitRequest &request, const Ideals &ideals, double known);

/// Depth-first topological order of the nodes: the node that became ready last
/// comes next.
std::vector<int> depthFirstOrder(const LoadGraph &graph);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_MAXLOADSPLIT_H
