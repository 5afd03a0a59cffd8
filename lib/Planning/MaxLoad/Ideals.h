//===- Ideals.h - sets of layers closed under what they need ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room. An ideal (down-set) of the forward graph holds with a
// node all that the node uses. What a stage takes is the difference of two
// ideals: then no path leaves it and comes back. A chain of n nodes has n + 1
// ideals, parallel branches have the product.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_IDEALS_H
#define STAGEWRIGHT_PLANNING_IDEALS_H

#include "MaxLoad/LoadGraph.h"
#include <span>

namespace stagewright {

/// All ideals of a graph, numbered by increasing size: 0 is empty, the last one
/// full.
class Ideals {
public:
  /// An ideal without one of its maximal nodes.
  struct Smaller {
    int node;
    int ideal;
  };

  /// All of them, or none if there are more than `most`. O(ideals * nodes).
  static std::optional<Ideals> create(const LoadGraph &graph, size_t most);
  /// Only the beginnings of `order`, a topological order of the nodes.
  static Ideals ofOrder(const std::vector<int> &order);

  size_t size() const { return starts.size() - 1; }
  /// Every way to take a node away, by increasing rank of the node.
  std::span<const Smaller> smaller(int ideal) const {
    return {steps.data() + starts[ideal], steps.data() + starts[ideal + 1]};
  }
  /// Its nodes, increasing.
  std::vector<int> nodesOf(int ideal) const;
  /// Position of a node in a topological order that all ideals agree with.
  int rank(int node) const { return ranks[node]; }

private:
  std::vector<Smaller> steps;
  std::vector<size_t> starts = {0};
  std::vector<int> ranks;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_IDEALS_H
