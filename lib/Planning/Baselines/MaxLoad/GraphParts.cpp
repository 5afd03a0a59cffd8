//===- GraphParts.cpp - components of a graph -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaxLoad/GraphParts.h"
#include <algorithm>

namespace stagewright {

static constexpr size_t kNone = size_t(-1);

/// A vertex on the path of a depth-first search.
struct Visit {
  size_t vertex;
  size_t next = 0;        ///< The next of its edges.
  size_t through = kNone; ///< The edge that led here.
};

std::vector<size_t> strongComponents(size_t count, const GraphEdges &edges) {
  std::vector<std::vector<size_t>> after(count);
  for (auto [from, to] : edges)
    after[from].push_back(to);
  std::vector<size_t> entered(count, kNone), low(count), part(count, kNone);
  std::vector<size_t> open;
  size_t clock = 0, parts = 0;
  std::vector<Visit> path;
  auto enter = [&](size_t vertex) {
    entered[vertex] = low[vertex] = clock++;
    open.push_back(vertex);
    path.push_back({vertex});
  };
  for (size_t root = 0; root < count; ++root) {
    if (entered[root] == kNone)
      enter(root);
    while (!path.empty()) {
      size_t vertex = path.back().vertex;
      if (path.back().next < after[vertex].size()) {
        size_t to = after[vertex][path.back().next++];
        if (entered[to] == kNone)
          enter(to);
        else if (part[to] == kNone)
          low[vertex] = std::min(low[vertex], entered[to]);
        continue;
      }
      path.pop_back();
      if (!path.empty())
        low[path.back().vertex] =
            std::min(low[path.back().vertex], low[vertex]);
      if (low[vertex] != entered[vertex])
        continue;
      for (bool isLast = false; !isLast; open.pop_back()) {
        part[open.back()] = parts;
        isLast = open.back() == vertex;
      }
      ++parts;
    }
  }
  return part;
}

std::vector<size_t> biconnectedComponents(size_t count,
                                          const GraphEdges &edges) {
  std::vector<std::vector<std::pair<size_t, size_t>>> around(count);
  for (size_t edge = 0; edge < edges.size(); ++edge) {
    around[edges[edge].first].push_back({edges[edge].second, edge});
    around[edges[edge].second].push_back({edges[edge].first, edge});
  }
  std::vector<size_t> entered(count, kNone), low(count);
  std::vector<size_t> part(edges.size(), kNone), open;
  std::vector<bool> isSeen(edges.size(), false);
  size_t clock = 0, parts = 0;
  std::vector<Visit> path;
  auto enter = [&](size_t vertex, size_t through) {
    entered[vertex] = low[vertex] = clock++;
    path.push_back({vertex, 0, through});
  };
  for (size_t root = 0; root < count; ++root) {
    if (entered[root] == kNone)
      enter(root, kNone);
    while (!path.empty()) {
      size_t vertex = path.back().vertex, through = path.back().through;
      if (path.back().next < around[vertex].size()) {
        auto [to, edge] = around[vertex][path.back().next++];
        if (isSeen[edge])
          continue;
        isSeen[edge] = true;
        open.push_back(edge);
        if (entered[to] == kNone)
          enter(to, edge);
        else
          low[vertex] = std::min(low[vertex], entered[to]);
        continue;
      }
      path.pop_back();
      if (path.empty())
        continue;
      size_t parent = path.back().vertex;
      low[parent] = std::min(low[parent], low[vertex]);
      if (low[vertex] < entered[parent])
        continue;
      // No edge below leads above the parent, so a component ends here.
      for (bool isLast = false; !isLast; open.pop_back()) {
        part[open.back()] = parts;
        isLast = open.back() == through;
      }
      ++parts;
    }
  }
  return part;
}

} // namespace stagewright
