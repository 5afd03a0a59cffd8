//===- GraphPartsTest.cpp - components of a graph -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaxLoad/GraphParts.h"
#include <gtest/gtest.h>
#include <random>

using namespace stagewright;

namespace {

/// Whether a path leads from `from` to `to` that avoids vertex `avoid`; with
/// `bothWays`, edges are undirected.
bool reaches(size_t count, const GraphEdges &edges, size_t from, size_t to,
             bool bothWays, size_t avoid = size_t(-1)) {
  std::vector<bool> seen(count, false);
  std::vector<size_t> todo = {from};
  seen[from] = true;
  while (!todo.empty()) {
    size_t at = todo.back();
    todo.pop_back();
    for (auto [a, b] : edges)
      for (auto [x, y] : {std::pair(a, b), std::pair(b, a)}) {
        if (x == at && !seen[y] && y != avoid)
          todo.push_back(y), seen[y] = true;
        if (!bothWays)
          break;
      }
  }
  return seen[to];
}

GraphEdges randomEdges(std::mt19937 &random, size_t count) {
  GraphEdges edges;
  for (size_t a = 0; a < count; ++a)
    for (size_t b = 0; b < count; ++b)
      if (a != b && random() % 5 == 0)
        edges.push_back({a, b});
  return edges;
}

TEST(GraphParts, StrongComponentsReachEachOther) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    size_t count = 1 + random() % 8;
    GraphEdges edges = randomEdges(random, count);
    std::vector<size_t> part = strongComponents(count, edges);
    for (size_t a = 0; a < count; ++a)
      for (size_t b = 0; b < count; ++b)
        EXPECT_EQ(part[a] == part[b], reaches(count, edges, a, b, false) &&
                                          reaches(count, edges, b, a, false));
  }
}

/// Two edges are in one biconnected component if and only if no vertex other
/// than their own ends separates an end of one from an end of the other.
TEST(GraphParts, NoVertexSeparatesABiconnectedComponent) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    size_t count = 2 + random() % 6;
    GraphEdges edges;
    for (auto [a, b] : randomEdges(random, count))
      if (a < b)
        edges.push_back({a, b});
    std::vector<size_t> part = biconnectedComponents(count, edges);
    for (size_t e = 0; e < edges.size(); ++e)
      for (size_t f = 0; f < edges.size(); ++f) {
        bool together = true;
        for (size_t cut = 0; cut < count; ++cut)
          for (size_t x : {edges[e].first, edges[e].second})
            for (size_t y : {edges[f].first, edges[f].second})
              if (e != f && x != cut && y != cut)
                together &= reaches(count, edges, x, y, true, cut);
        EXPECT_EQ(part[e] == part[f], together);
      }
  }
}

TEST(GraphParts, ALongChainFits) {
  GraphEdges edges;
  for (size_t i = 0; i < 1000000; ++i)
    edges.push_back({i, i + 1});
  EXPECT_EQ(strongComponents(1000001, edges).front(), 1000000u);
  EXPECT_EQ(biconnectedComponents(1000001, edges).back(), 0u);
}

} // namespace
