//===- MarkedGraph.h - marked graphs and their empty cycles --- -*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A marked graph is a Petri net in which every place has one transition that
// adds tokens and one that takes them: a channel with its producer and its
// consumer, or the free slots of a ring with the action that frees one and the
// action that fills one. A transition fires when each place before it holds a
// token; it takes one from each and adds one to each place after it.
//
// The number of tokens on a cycle never changes. So a marked graph is live, and
// every transition can fire any number of times, if and only if every cycle
// holds a token (Commoner, Holt, Even and Pnueli, "Marked directed graphs",
// 1971, theorem 1). On a cycle without a token no transition ever fires.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_MARKEDGRAPH_H
#define STAGEWRIGHT_SCHEDULING_MARKEDGRAPH_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagewright {

struct MarkedGraph {
  struct Place {
    size_t from = 0, to = 0; ///< Transitions that add and take its tokens.
    int64_t tokens = 0;      ///< At the start; not negative.
  };

  size_t transitions = 0;
  std::vector<Place> places;
};

/// The places of a cycle without a token, in order; empty if there is none, so
/// that no order of firing is ever stuck. Linear in places and transitions.
std::vector<size_t> findEmptyCycle(const MarkedGraph &graph);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_MARKEDGRAPH_H
