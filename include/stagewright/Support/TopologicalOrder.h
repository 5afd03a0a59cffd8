//===- TopologicalOrder.h - orders of the nodes of a graph ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A. B. Kahn, "Topological sorting of large networks", Communications of the
// ACM 5 (1962), with a rank among the nodes that could be next, so that one
// graph has one order.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_TOPOLOGICALORDER_H
#define STAGEWRIGHT_SUPPORT_TOPOLOGICALORDER_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace stagewright {

/// By node: the nodes after it. A node may be listed several times.
using Successors = std::vector<std::vector<size_t>>;

/// The lists of successors of `count` nodes with these edges, pairs of numbers.
template <typename Edges>
Successors successorsOf(size_t count, const Edges &edges) {
  Successors next(count);
  for (const auto &[from, to] : edges)
    next[size_t(from)].push_back(size_t(to));
  return next;
}

/// The nodes in topological order: of those whose predecessors are all before,
/// always the one of least `rank`, or of least number if ranks are equal or
/// there are none. Nodes on a cycle, and those behind one, are left out.
/// O(n log n + edges).
std::vector<size_t> topologicalOrder(const Successors &next,
                                     const std::vector<int64_t> &rank = {});

/// The least of `count` nodes that `order` leaves out.
std::optional<size_t> firstLeftOut(const std::vector<size_t> &order,
                                   size_t count);

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_TOPOLOGICALORDER_H
