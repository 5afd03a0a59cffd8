//===- TopologicalOrderTest.cpp - orders of the nodes of a graph ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Support/TopologicalOrder.h"
#include <gtest/gtest.h>
#include <set>
#include <utility>

using namespace stagewright;

namespace {

using Nodes = std::vector<size_t>;

TEST(TopologicalOrder, TakesTheLeastNodeThatIsReady) {
  // 3 -> 0 -> 2, 3 -> 1
  std::set<std::pair<int, int>> edges = {{3, 0}, {0, 2}, {3, 1}};
  EXPECT_EQ(topologicalOrder(successorsOf(4, edges)), Nodes({3, 0, 1, 2}));
}

TEST(TopologicalOrder, TakesTheNodeOfLeastRank) {
  std::set<std::pair<int, int>> edges = {{3, 0}, {0, 2}, {3, 1}};
  EXPECT_EQ(topologicalOrder(successorsOf(4, edges), {5, 7, 6, 9}),
            Nodes({3, 0, 2, 1}));
  EXPECT_EQ(topologicalOrder(successorsOf(4, edges), {1, 1, 1, 1}),
            Nodes({3, 0, 1, 2}));
}

TEST(TopologicalOrder, CountsEachOfSeveralEqualEdges) {
  EXPECT_EQ(topologicalOrder({{1, 1}, {}}), Nodes({0, 1}));
}

TEST(TopologicalOrder, LeavesOutCyclesAndWhatIsBehindThem) {
  // 1 -> 2 -> 1, 2 -> 3
  Successors next = {{}, {2}, {1, 3}, {}};
  EXPECT_EQ(topologicalOrder(next), Nodes({0}));
  EXPECT_EQ(firstLeftOut(topologicalOrder(next), next.size()), 1u);
}

TEST(TopologicalOrder, OfAllNodesLeavesOutNone) {
  EXPECT_EQ(firstLeftOut(topologicalOrder({{1}, {}}), 2), std::nullopt);
  EXPECT_EQ(topologicalOrder({}), Nodes());
}

} // namespace
