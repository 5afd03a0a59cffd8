//===- MinCut.h - minimum cut of a small directed graph ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dinic's algorithm (E. A. Dinic, 1970) on plain data: O(V^2 E) at worst, close
// to linear on the graphs of one layer, which are shallow. Boost.Graph has it
// too; this small class avoids that dependency.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_MINCUT_H
#define STAGEWRIGHT_ANALYSIS_MINCUT_H

#include <cstdint>
#include <limits>
#include <vector>

namespace stagewright {

/// A directed graph with a source (node 0) and a sink (node 1), and its minimum
/// cut.
class MinCut {
public:
  static constexpr int kSource = 0, kSink = 1;
  /// Capacity of an edge that must not be cut: more than any sum of finite
  /// capacities, and the sum of a thousand does not overflow.
  static constexpr int64_t kInfinite = int64_t(1) << 52;

  MinCut() : first(2, -1) {}

  /// Adds a node and returns its number.
  int addNode();
  /// Adds an edge that costs `capacity` >= 0 to cut.
  void addEdge(int from, int to, int64_t capacity);
  /// Computes a minimum cut and returns its cost. Of several minimum cuts it
  /// takes the one nearest to the source.
  int64_t solve();
  /// After solve(): whether `node` is on the source's side of the cut.
  bool onSourceSide(int node) const { return level[node] >= 0; }

private:
  struct Edge {
    int to, next;
    int64_t capacity;
  };
  bool findLevels();
  int64_t push();

  std::vector<Edge> edges;
  std::vector<int> first, level, cursor;
};

} // namespace stagewright

#endif // STAGEWRIGHT_ANALYSIS_MINCUT_H
