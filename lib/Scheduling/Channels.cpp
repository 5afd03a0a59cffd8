//===- Channels.cpp - communicators and when they are set up --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Channels.h"
#include <algorithm>
#include <map>

namespace stagewright {

std::vector<Channel>
channelsOf(std::vector<std::pair<int64_t, int64_t>> pairs) {
  std::sort(pairs.begin(), pairs.end());
  std::map<std::pair<int64_t, int64_t>, size_t> numberOf;
  std::vector<std::pair<int64_t, int64_t>> edges;
  int64_t ranks = 0;
  for (auto [from, to] : pairs) {
    ranks = std::max({ranks, from + 1, to + 1});
    std::pair edge(std::min(from, to), std::max(from, to));
    if (numberOf.try_emplace(edge, edges.size()).second)
      edges.push_back(edge);
  }
  std::vector<int64_t> colours = colourEdges(ranks, edges);
  // Two rounds per colour, one for each direction; rounds without a channel are
  // removed.
  std::vector<Channel> channels;
  std::map<int64_t, int64_t> rounds;
  for (auto [from, to] : pairs) {
    size_t edge = numberOf[{std::min(from, to), std::max(from, to)}];
    channels.push_back({from, to, 2 * colours[edge] + (from > to)});
    rounds[channels.back().round] = 0;
  }
  int64_t count = 0;
  for (auto &[wide, round] : rounds)
    round = count++;
  for (Channel &channel : channels)
    channel.round = rounds[channel.round];
  return channels;
}

} // namespace stagewright
