//===- LoadGraph.h - what planners of the maximum load see ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room. The load of a device that holds the layers X is
//
//   sum of the seconds of X
//   + sum over values with a layer (producer or user) in X and one outside of
//     the seconds of a transfer
//
// for one microbatch; a pipeline's throughput is at most one over the largest
// load. So a value is a net: the set of layers that it touches. Source:
// Tarnawski et al., "Efficient algorithms for device placement of DNN graph
// operators" (NeurIPS 2020), section 3; "FPGA load" in its public program.
//
// Nodes are groups of layers (LayerGroups.h).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_LOADGRAPH_H
#define STAGEWRIGHT_PLANNING_LOADGRAPH_H

#include "stagewright/Cost/Network.h"
#include "stagewright/Planning/Problem.h"

namespace stagewright {

/// A device as the load sees it: how fast it computes and sends. Devices with
/// unequal memory are different places.
struct LoadPlace {
  std::vector<double> time; ///< Seconds of each node.
  std::vector<double> cost; ///< Seconds of each net.
};

struct LoadGraph {
  std::vector<std::vector<int64_t>> layers; ///< Of each node, increasing.
  std::vector<std::vector<int>> before;     ///< Whose forward values it uses.
  std::vector<std::vector<int>> after;
  std::vector<std::vector<int>> nets;   ///< Nodes of each net, increasing.
  std::vector<std::vector<int>> netsOf; ///< Of each node.
  std::vector<LoadPlace> places;        ///< Different ones.
  bool flat = true;                     ///< All links are equal.
  std::vector<size_t> placeOf;          ///< Of each position in the order.

  size_t size() const { return layers.size(); }
  /// Least seconds of a node on any place.
  double leastTime(int node) const;
};

/// `order`: the devices by position. A value costs the seconds that the input
/// states, or else those of its bytes over the slower of the links to the
/// devices next in the order; on a device of class "host" it costs none. Nodes
/// are numbered in topological order.
LoadGraph makeLoadGraph(const Problem &problem, const Network &network,
                        const std::vector<size_t> &order);

/// The load of a set of nodes that grows and shrinks; O(nets of a node).
class GrowingLoad {
public:
  GrowingLoad(const LoadGraph &graph, const LoadPlace &place);

  void add(int node);
  /// The node added last among those not removed.
  void remove(int node);

  double compute() const { return times.back(); }
  double load() const { return times.back() + costs.back(); }

private:
  const LoadGraph &graph;
  const LoadPlace &place;
  std::vector<int> pinsInside;      ///< Of each net.
  std::vector<double> times, costs; ///< After each node that is inside.
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_LOADGRAPH_H
