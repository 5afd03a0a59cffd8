//===- GlobalMinCutTest.cpp - minimum cut of a weighted graph -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Devices/GlobalMinCut.h"
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>

using namespace stagewright;

namespace {
/// A weighted undirected graph as a symmetric matrix.
struct Graph {
  size_t count;
  std::vector<double> weights;

  explicit Graph(size_t count) : count(count), weights(count * count, 0) {}
  void join(size_t a, size_t b, double weight) {
    weights[a * count + b] = weights[b * count + a] = weight;
  }
  double cutOf(const std::vector<bool> &side) const {
    double cut = 0;
    for (size_t a = 0; a < count; ++a)
      for (size_t b = a + 1; b < count; ++b)
        if (side[a] != side[b])
          cut += weights[a * count + b];
    return cut;
  }
};
} // namespace

TEST(GlobalMinCut, ClassicGraphOfThePaper) {
  std::ifstream file(STAGEWRIGHT_SHARED "/data/golden/planners.json");
  ASSERT_TRUE(file) << "the golden values are missing";
  nlohmann::json golden =
      nlohmann::json::parse(file)["worked_examples"]["stoer_wagner_classic"];
  Graph graph(8);
  for (const auto &edge : golden["edges_1based"])
    graph.join(edge[0].get<size_t>() - 1, edge[1].get<size_t>() - 1,
               edge[2].get<double>());
  GraphCut cut = globalMinCut(8, graph.weights);
  EXPECT_EQ(cut.weight, golden["cut"].get<double>());
  std::vector<size_t> side;
  for (size_t v = 0; v < 8; ++v)
    if (cut.side[v] != cut.side[0])
      side.push_back(v + 1);
  EXPECT_EQ(side, golden["side"].get<std::vector<size_t>>());
}

// Boost 1.74 returns 7: as it merges no vertices, it never finds the bridge.
TEST(GlobalMinCut, TwoCompleteGraphsJoinedByAnEdge) {
  Graph graph(8);
  for (size_t half : {0, 4}) {
    for (size_t v = 1; v < 4; ++v)
      graph.join(half, half + v, 3);
    graph.join(half + 1, half + 2, 2);
    graph.join(half + 1, half + 3, 2);
    graph.join(half + 2, half + 3, 2);
  }
  graph.join(0, 4, 6);
  EXPECT_EQ(globalMinCut(8, graph.weights).weight, 6);
}

TEST(GlobalMinCut, NoSplitIsLighterOnRandomGraphs) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Graph graph(2 + random() % 8);
    for (size_t a = 0; a < graph.count; ++a)
      for (size_t b = a + 1; b < graph.count; ++b)
        graph.join(a, b, random() % 3 == 0 ? 0 : 1 + random() % 9);
    GraphCut cut = globalMinCut(graph.count, graph.weights);
    EXPECT_EQ(graph.cutOf(cut.side), cut.weight);
    for (unsigned bits = 1; bits + 1 < 1u << graph.count; ++bits) {
      std::vector<bool> side;
      for (size_t v = 0; v < graph.count; ++v)
        side.push_back(bits >> v & 1);
      ASSERT_LE(cut.weight, graph.cutOf(side));
    }
  }
}
