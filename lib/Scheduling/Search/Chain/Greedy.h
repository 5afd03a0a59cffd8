//===- Greedy.h - list scheduling of one stage per rank ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// List scheduling of one stage per rank: in order of time, a free rank runs an
// I or a forward whose input has arrived, or fills the gap with a W. The idea
// is that of the greedy scheduler of the zero-bubble paper (Qi et al., ICLR
// 2024), which tries both values of three binary settings; here there are nine,
// most of them continuous. O(n log p) for n actions and p ranks.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_GREEDY_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_GREEDY_H

#include "Search/FastTiming.h"

namespace stagewright::search {

struct GreedySettings {
  /// Target number of forwards in flight, memory permitting. 0: as many as one
  /// microbatch per period needs; 1: as many as fill the time until the first
  /// gradient.
  double warmup = 1;
  /// A gap is filled with W if it is known to last at least this part of W.
  double patience = 0.5;
  /// The same until the first gradients and near the last forwards, where a
  /// late action delays a whole path.
  double early = 0.5, late = 0.5;
  /// A forward that would delay the first gradient waits for the gradient if
  /// that arrives within this part of the forward's time.
  double hold = 1;
  /// Max number of delayed W, as a part of what memory allows; above it, a W
  /// runs before anything else.
  double backlog = 1;
  /// 1: below the target, a forward that has arrived runs before an I that has
  /// arrived. 0: the I runs first.
  double forwardFirst = 0;
  /// 1: if a forward lacks no more memory than one W frees, that W runs before
  /// an I, so that as many forwards as possible stay in flight.
  double makeRoom = 0;
  /// Part of the allowed idle time that a rank may spend on waiting for F or I
  /// instead of running a W that would delay them.
  double idle = 0;
};

/// By rank: the max idle time after its first start with which the objective
/// can still be `target`.
std::vector<Ticks> allowedIdle(const FastProblem &problem, Ticks target,
                               bool span);

/// An order that fits the memory. Needs one stage per rank, and memory for one
/// microbatch on each.
FastOrders constructGreedy(const FastProblem &problem,
                           const GreedySettings &settings,
                           const std::vector<Ticks> &idle);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_GREEDY_H
