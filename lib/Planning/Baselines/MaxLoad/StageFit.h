//===- StageFit.h - whether a set of nodes fits in memory -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the memory of a stage while nodes of a LoadGraph
// (groups of layers) are added and removed, computed only when a planner asks.
// If all layers with all microbatches fit on the smallest device, it is never
// computed.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_STAGEFIT_H
#define STAGEWRIGHT_PLANNING_STAGEFIT_H

#include "MaxLoad/LoadGraph.h"

namespace stagewright {

class StageFit {
public:
  StageFit(const Problem &problem, const LoadGraph &graph);

  void add(int node) { set(node, true); }
  void remove(int node) { set(node, false); }
  /// Bytes of the nodes as stage `fromEnd` (1: the last), under the execution
  /// order with the fewest microbatches in flight.
  Bytes bytes(int64_t fromEnd) const;
  bool fits(size_t device, int64_t fromEnd) const {
    return !canBind || bytes(fromEnd) <= problem.cluster.devices[device].memory;
  }

private:
  void set(int node, bool here) {
    if (canBind)
      for (int64_t layer : graph.layers[node])
        isHere[layer] = here;
  }

  const Problem &problem;
  const LoadGraph &graph;
  std::vector<bool> isHere; ///< By layer.
  bool canBind;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_STAGEFIT_H
