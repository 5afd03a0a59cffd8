//===- GraphParts.h - components of a graph ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the baselines. Vertices are 0 to `count` - 1. Both functions take
// O(V + E) and do not recurse, since a graph may be a long chain.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_GRAPHPARTS_H
#define STAGEWRIGHT_PLANNING_GRAPHPARTS_H

#include <cstddef>
#include <utility>
#include <vector>

namespace stagewright {

using GraphEdges = std::vector<std::pair<size_t, size_t>>;

/// The strongly connected component of each vertex, from 0 (Tarjan 1972).
std::vector<size_t> strongComponents(size_t count, const GraphEdges &edges);

/// The biconnected component of each edge, from 0, in the undirected graph
/// (Hopcroft and Tarjan 1973).
std::vector<size_t> biconnectedComponents(size_t count,
                                          const GraphEdges &edges);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_GRAPHPARTS_H
