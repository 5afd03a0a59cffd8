//===- LoadGraph.h - graph for planners of the maximum load -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder. The load of a device that holds the layers X is
//
//   sum of the seconds of X
//   + sum of the transfer seconds of all values that have a layer (producer or
//     user) in X and another layer outside X
//
// for one microbatch; a pipeline's throughput is at most 1 / (largest load). So
// a value is a net, the set of its producer and users. Source: Tarnawski et
// al., "Efficient algorithms for device placement of DNN graph operators"
// (NeurIPS 2020), section 3; "FPGA load" in its public program.
//
// Nodes are groups of layers (LayerGroups.h).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_LOADGRAPH_H
#define STAGEWRIGHT_PLANNING_LOADGRAPH_H

#include "stagewright/Cost/Network.h"
#include "stagewright/Planning/Problem.h"

namespace stagewright {

/// A kind of device: how fast it computes and sends. Devices of one place also
/// have equal memory.
struct LoadPlace {
  std::vector<double> time; ///< Seconds of each node.
  std::vector<double> cost; ///< Seconds of each net.
};

struct LoadGraph {
  std::vector<std::vector<int64_t>> layers; ///< Of each node, increasing.
  std::vector<std::vector<int>> before;     ///< Producers of a node's inputs.
  std::vector<std::vector<int>> after;
  std::vector<std::vector<int>> nets;   ///< Nodes of each net, increasing.
  std::vector<std::vector<int>> netsOf; ///< Of each node.
  std::vector<LoadPlace> places;        ///< Distinct.
  bool flat = true;                     ///< All links are equal.
  std::vector<size_t> placeOf;          ///< Of each position in the order.

  size_t size() const { return layers.size(); }
  /// Min seconds of a node on any place.
  double leastTime(int node) const;
};

/// `order`: the devices by position. A value costs the seconds that the input
/// states, else those of its bytes over the slower of the links to the
/// neighbours in the order; on a device of class "host" it costs 0. Nodes are
/// numbered in topological order.
LoadGraph makeLoadGraph(const Problem &problem, const Network &network,
                        const std::vector<size_t> &order);

/// The load of a set of nodes that grows and shrinks; O(nets of a node).
class GrowingLoad {
public:
  GrowingLoad(const LoadGraph &graph, const LoadPlace &place);

  void add(int node);
  /// `node` must be the last added of those not removed.
  void remove(int node);

  double compute() const { return times.back(); }
  double load() const { return times.back() + costs.back(); }

private:
  const LoadGraph &graph;
  const LoadPlace &place;
  std::vector<int> pinsInside;      ///< Of each net.
  std::vector<double> times, costs; ///< After each node added.
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_LOADGRAPH_H
