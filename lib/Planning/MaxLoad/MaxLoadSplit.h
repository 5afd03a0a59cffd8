//===- MaxLoadSplit.h - contiguous stages of least load ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: the dynamic program over ideals. With W[{}][all] = 0,
//
//   W[d][J] = min over ideals I that contain J and devices v of d of
//             max(W[d - v][I], load(I \ J on v))
//
// W[d][{}] is the least maximum load of stages on the devices d (DevicePool.h).
// It goes from the tail, so that the number of microbatches in flight, hence
// memory, is known in W.
//
// The published program scores every pair of ideals from nothing and keeps the
// scores. Here each ideal walks down to the smaller ones, each reached once (by
// removing nodes in decreasing rank), with the load brought up to date by the
// values of one node a step; a walk ends where the compute of I \ J alone is
// above a known solution, and a pair is left out where the rest cannot be done
// by the stages that remain. Neither changes the optimum.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_MAXLOADSPLIT_H
#define STAGEWRIGHT_PLANNING_MAXLOADSPLIT_H

#include "MaxLoad/Ideals.h"

namespace stagewright {

/// Stages of nodes, in an order in which they can run.
struct MaxLoadSplit {
  double load = 0;
  std::vector<std::vector<int>> stages;
  std::vector<size_t> devices; ///< Of each stage.
};

struct SplitRequest {
  const Problem &problem;
  const LoadGraph &graph;
  const std::vector<size_t> &order; ///< Devices by position.
  int64_t most = 1;                 ///< Stages.
  bool exact = false;               ///< As many stages as `most`, not fewer.
};

/// The least maximum load, and of the splits that have it the one with the
/// least sum of squared loads; none if no split fits in memory. An error if
/// there are too many pairs of ideals. `known`: a load that can be reached, or
/// infinity.
Result<std::optional<MaxLoadSplit>>
splitByIdeals(const SplitRequest &request, const Ideals &ideals, double known);

/// Depth-first topological order of the nodes: after a node the one that became
/// ready last comes next.
std::vector<int> depthFirstOrder(const LoadGraph &graph);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_MAXLOADSPLIT_H
