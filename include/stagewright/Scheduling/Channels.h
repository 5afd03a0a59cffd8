//===- Channels.h - communicators and when they are set up ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NCCL runs the groups of one communicator in the order in which they were
// enqueued, so messages of two directions or two neighbours on one communicator
// would wait for each other needlessly. A channel is therefore one directed
// pair of ranks, with its own communicator; its messages have one order.
//
// Creating a communicator is a collective of its two ranks. In a round each
// rank creates at most one, so rounds are the colours of an edge colouring of
// the graph of ranks, with two rounds per colour if both directions are used.
// If every rank has at most D neighbours, D colours are enough for a bipartite
// graph, such as a chain or an even ring (König 1916), and D + 1 for any other
// (Vizing 1964, by the fans of Misra and Gries, IPL 1992).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_CHANNELS_H
#define STAGEWRIGHT_SCHEDULING_CHANNELS_H

#include <cstdint>
#include <utility>
#include <vector>

namespace stagewright {

/// All messages from one rank to another.
struct Channel {
  int64_t from = 0, to = 0; ///< Ranks.
  int64_t round = 0;        ///< No other channel of `from` or `to` has it.

  friend bool operator==(const Channel &, const Channel &) = default;
};

/// One channel for each of `pairs` (from, to), sorted, without duplicates.
/// Rounds are numbered from 0 without gaps.
std::vector<Channel> channelsOf(std::vector<std::pair<int64_t, int64_t>> pairs);

/// An edge colouring of a graph without loops and double edges: edges with a
/// common vertex have different colours. Colours are numbers from 0 on. If the
/// graph is bipartite, there are as many as the max degree, and the time is
/// O(edges (vertices + degree)); else there is at most one colour more, and the
/// time is O(edges (vertices + degree^3)).
std::vector<int64_t>
colourEdges(int64_t vertices,
            const std::vector<std::pair<int64_t, int64_t>> &edges);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_CHANNELS_H
