//===- Ideals.h - sets of layers closed under inputs ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the baselines. An ideal (down-set) of the forward graph contains,
// with each node, all nodes that it uses. A stage is the difference of two
// ideals, so that no path leaves it and returns. A chain of n nodes has n + 1
// ideals; the numbers of ideals of parallel branches multiply.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_IDEALS_H
#define STAGEWRIGHT_PLANNING_IDEALS_H

#include "MaxLoad/LoadGraph.h"
#include <span>

namespace stagewright {

/// All ideals of a graph, numbered by increasing size: the first is empty, the
/// last has all nodes.
class Ideals {
public:
  /// The ideal that is left if a maximal node is removed.
  struct Smaller {
    int node;
    int ideal;
  };

  /// All ideals, or nullopt if there are more than `most`. Time O(I n^2) for I
  /// ideals of n nodes.
  static std::optional<Ideals> create(const LoadGraph &graph, size_t most);
  /// Only the prefixes of `order`, a topological order of the nodes.
  static Ideals ofOrder(const std::vector<int> &order);

  size_t size() const { return starts.size() - 1; }
  /// Every removal of a maximal node, by increasing rank of the node.
  std::span<const Smaller> smaller(int ideal) const {
    return {steps.data() + starts[ideal], steps.data() + starts[ideal + 1]};
  }
  /// The nodes of an ideal, increasing.
  std::vector<int> nodesOf(int ideal) const;
  /// Position of a node in a topological order, which also sorts smaller().
  int rank(int node) const { return ranks[node]; }

private:
  std::vector<Smaller> steps;
  std::vector<size_t> starts = {0};
  std::vector<int> ranks;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_IDEALS_H
