//===- Channels.h - communicators and when they are set up ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NCCL runs the groups of one communicator in the order in which they were
// enqueued, so that two directions, or two neighbours, on one communicator wait
// for each other without need. A channel is therefore one directed pair of
// ranks, a communicator of two; its messages have one order (Communication.h).
//
// Making a communicator is a collective of its two ranks. In a round each rank
// makes one at most, so rounds are the colours of an edge colouring of the
// graph of ranks, twice where both directions are used. With D neighbours at
// most: D colours where the graph is bipartite (König 1916), such as a chain or
// an even ring, D + 1 otherwise (Vizing 1964, by the fans of Misra and Gries,
// IPL 1992).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_CHANNELS_H
#define STAGEWRIGHT_SCHEDULING_CHANNELS_H

#include <cstdint>
#include <utility>
#include <vector>

namespace stagewright {

/// All that one rank sends to another.
struct Channel {
  int64_t from = 0, to = 0; ///< Ranks.
  int64_t round = 0;        ///< No other channel of either rank has it.

  friend bool operator==(const Channel &, const Channel &) = default;
};

/// One channel for each of `pairs` (from, to), sorted, no pair twice, with
/// rounds from 0 on without gaps.
std::vector<Channel> channelsOf(std::vector<std::pair<int64_t, int64_t>> pairs);

/// A colour from 0 on for every edge of a graph without loops and double edges
/// such that edges that meet differ: as many colours as the largest degree
/// where the graph is bipartite, one more at most otherwise. O(edges (vertices
/// + degree)).
std::vector<int64_t>
colourEdges(int64_t vertices,
            const std::vector<std::pair<int64_t, int64_t>> &edges);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_CHANNELS_H
