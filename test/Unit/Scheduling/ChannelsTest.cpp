//===- ChannelsTest.cpp - communicators and when they are set up ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Channels.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace stagewright;

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

static int64_t degreeOf(int64_t vertices, const Pairs &edges) {
  std::vector<int64_t> degrees(vertices, 0);
  for (auto [a, b] : edges)
    ++degrees[a], ++degrees[b];
  return *std::max_element(degrees.begin(), degrees.end());
}

/// The number of colours used. Fails if adjacent edges have the same colour.
static int64_t coloursOf(int64_t vertices, const Pairs &edges) {
  std::vector<int64_t> colours = colourEdges(vertices, edges);
  EXPECT_EQ(colours.size(), edges.size());
  std::set<std::pair<int64_t, int64_t>> seen;
  int64_t most = -1;
  for (size_t e = 0; e < edges.size(); ++e) {
    EXPECT_GE(colours[e], 0);
    EXPECT_TRUE(seen.insert({edges[e].first, colours[e]}).second);
    EXPECT_TRUE(seen.insert({edges[e].second, colours[e]}).second);
    most = std::max(most, colours[e]);
  }
  return most + 1;
}

// Vizing's bound, and König's for bipartite graphs.
TEST(Channels, RandomGraphsKeepTheirBound) {
  std::mt19937_64 random(20261122);
  for (int trial = 0; trial < 2000; ++trial) {
    int64_t vertices = 2 + random() % 14;
    bool bipartite = trial % 2 == 0;
    uint64_t density = 1 + random() % 10;
    Pairs edges;
    for (int64_t a = 0; a < vertices; ++a)
      for (int64_t b = a + 1; b < vertices; ++b)
        if (random() % 10 < density && (!bipartite || (a + b) % 2 == 1))
          edges.push_back({a, b});
    std::shuffle(edges.begin(), edges.end(), random);
    if (edges.empty())
      continue;
    EXPECT_LE(coloursOf(vertices, edges),
              degreeOf(vertices, edges) + !bipartite)
        << "trial " << trial;
  }
}

TEST(Channels, CompleteGraphOfManyRanks) {
  for (int64_t vertices : {3, 4, 9, 40}) {
    Pairs edges;
    for (int64_t a = 0; a < vertices; ++a)
      for (int64_t b = a + 1; b < vertices; ++b)
        edges.push_back({a, b});
    EXPECT_LE(coloursOf(vertices, edges), vertices);
  }
}

TEST(Channels, ChainNeedsTwoColours) {
  EXPECT_EQ(coloursOf(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}), 2);
}

// As PyTorch's p2p_per_edge: four ranks in a ring need four rounds, two
// matchings in two directions each.
TEST(Channels, RingOfFourIsSetUpInFourRounds) {
  std::vector<Channel> channels = channelsOf(
      {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {1, 0}, {2, 1}, {3, 2}, {0, 3}});
  ASSERT_EQ(channels.size(), 8u);
  std::set<std::pair<int64_t, int64_t>> busy;
  for (const Channel &channel : channels) {
    EXPECT_LT(channel.round, 4);
    EXPECT_TRUE(busy.insert({channel.round, channel.from}).second);
    EXPECT_TRUE(busy.insert({channel.round, channel.to}).second);
  }
}

TEST(Channels, OneDirectionHasNoEmptyRounds) {
  EXPECT_EQ(channelsOf({{1, 2}, {0, 1}}),
            (std::vector<Channel>{{0, 1, 0}, {1, 2, 1}}));
  EXPECT_TRUE(channelsOf({}).empty());
}
