//===- LoadAssignment.h - loads of nodes on devices -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: an assignment of nodes to devices, with the load of
// each device (LoadGraph.h) updated as nodes move. The nodes of a device need
// not be a contiguous stage.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_LOADASSIGNMENT_H
#define STAGEWRIGHT_PLANNING_LOADASSIGNMENT_H

#include "MaxLoad/LoadGraph.h"

namespace stagewright {

class LoadAssignment {
public:
  LoadAssignment(const Problem &problem, const LoadGraph &graph,
                 const std::vector<size_t> &order,
                 const std::vector<size_t> &positionOf);

  size_t positionOf(int node) const { return positions[node]; }
  const std::vector<size_t> &all() const { return positions; }
  double load(size_t position) const { return loads[position]; }
  double maxLoad() const;
  double sumOfSquares() const;

  /// Whether the device has memory for the residents of `node` and of the nodes
  /// that are on it; a resident of several layers is counted with each layer.
  /// Stashes are not counted.
  bool hasRoom(int node, size_t position) const {
    return held[position] + bytes[node] <= memory[position];
  }
  /// Moves `node` to position `to`; O(nets of the node).
  void move(int node, size_t to);

private:
  int &pins(int net, size_t position) {
    return pinCounts[size_t(net) * loads.size() + position];
  }

  const LoadGraph &graph;
  std::vector<size_t> positions; ///< Of each node.
  std::vector<double> loads;     ///< Of each position.
  std::vector<int> pinCounts;    ///< Of each net at each position.
  std::vector<int64_t> bytes, held, memory;
};

/// Splits the nodes of each position into contiguous stages, in an order in
/// which every forward value goes to the same or a later stage. A stage extends
/// as long as nodes of its device are ready; the next stage is on a device that
/// can finish, else on the one with the most to do.
std::vector<std::pair<size_t, std::vector<int>>>
contiguousStages(const LoadGraph &graph, const std::vector<size_t> &positionOf);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_LOADASSIGNMENT_H
