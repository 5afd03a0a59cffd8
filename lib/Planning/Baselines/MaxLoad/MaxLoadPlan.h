//===- MaxLoadPlan.h - what planners of the maximum load share --*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: makes loads from a problem, and a plan from groups of
// nodes on devices.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_MAXLOADPLAN_H
#define STAGEWRIGHT_PLANNING_MAXLOADPLAN_H

#include "MaxLoad/MaxLoadSplit.h"
#include "stagewright/Planning/Plan.h"

namespace stagewright {

/// Max number of ideals in `ideal-dp`; each takes about 300 bytes.
inline constexpr size_t kMostIdeals = 200'000;

/// The best contiguous split, and where it was searched for.
struct ContiguousOptimum {
  std::vector<size_t> order; ///< Devices by position.
  LoadGraph graph;           ///< With the devices in that order.
  MaxLoadSplit split;
  double linear = 0; ///< Min load along one order of the nodes.
  size_t ideals = 0; ///< Searched; 0: only that order.
};

/// The best split over all ideals or, if `linear`, along depthFirstOrder(). If
/// all links are equal, devices are in the order of the problem, else in that
/// of recursive device ordering (DeviceOrder.h) or its reverse, whichever gives
/// the lower load.
Result<ContiguousOptimum> findContiguous(const Problem &problem,
                                         const Network &network, bool linear);

/// The plan with the stages of `split`, evaluated.
Result<Plan> planOf(const Problem &problem, const Network &network,
                    const LoadGraph &graph, const MaxLoadSplit &split);

/// Lower bound on the maximum load, in seconds per microbatch, of any
/// assignment of all nodes to at most `most` devices: compute alone, evenly
/// spread.
double leastLoad(const LoadGraph &graph, int64_t most);

/// Max number of stages of a plan: the number asked for, else the min of the
/// numbers of devices and of nodes.
int64_t mostStages(const Problem &problem, const LoadGraph &graph);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_MAXLOADPLAN_H
