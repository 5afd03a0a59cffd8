//===- MaxLoadPlan.h - what planners of the maximum load share --*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: from a problem to its loads, and from groups of nodes
// on devices to a plan.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_MAXLOADPLAN_H
#define STAGEWRIGHT_PLANNING_MAXLOADPLAN_H

#include "MaxLoad/MaxLoadSplit.h"
#include "stagewright/Planning/Plan.h"

namespace stagewright {

/// Most ideals that `ideal-dp` takes on; about 300 bytes each.
inline constexpr size_t kMostIdeals = 200'000;

/// The best contiguous split, and what it was found among.
struct ContiguousOptimum {
  std::vector<size_t> order; ///< Devices by position.
  LoadGraph graph;           ///< With the devices in that order.
  MaxLoadSplit split;
  double linear = 0; ///< Least load along one order of the nodes.
  size_t ideals = 0; ///< 0: only along that order.
};

/// Over all ideals, or only along depthFirstOrder(). Devices come in the order
/// that is stated where all links are equal, else in RDO's and in its reverse,
/// whichever gives less.
Result<ContiguousOptimum> findContiguous(const Problem &problem,
                                         const Network &network, bool linear);

/// The evaluated plan of stages of nodes on devices.
Result<Plan> planOf(const Problem &problem, const Network &network,
                    const LoadGraph &graph, const MaxLoadSplit &split);

/// Seconds per microbatch below which no assignment of all nodes to at most
/// `most` devices has its maximum load: compute alone, evenly spread.
double leastLoad(const LoadGraph &graph, int64_t most);

/// Stages that a plan may have: as many as asked for, or devices.
int64_t mostStages(const Problem &problem, const LoadGraph &graph);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_MAXLOADPLAN_H
