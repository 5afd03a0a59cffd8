//===- Greedy.h - orders by looking at what has arrived ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// List scheduling of one stage per rank: time moves on, and a rank that is free
// runs a gradient or a forward that has arrived, or fills the gap with a weight
// gradient. The idea is that of the greedy scheduler of the zero-bubble paper
// (Qi et al., ICLR 2024), which tries both values of three questions; here
// there are seven, most of them by degrees. O(n log p) for n actions.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_GREEDY_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_GREEDY_H

#include "Search/FastTiming.h"

namespace stagewright::search {

struct GreedySettings {
  /// Forwards in flight that a rank aims at: 0, what one microbatch per period
  /// needs; 1, what fills the time until the first gradient; memory permitting.
  double warmup = 1;
  /// A gap is filled with W if it is known to last this part of W or longer.
  double patience = 0.5;
  /// The same up to the first gradients and after the last forwards: there a
  /// late action delays a whole path.
  double early = 0.5, late = 0.5;
  /// A forward that would delay the first gradient waits for it, if it is not
  /// further away than this part of the forward.
  double hold = 1;
  /// W that may be left over, as a part of what memory allows; W in excess is
  /// run before anything else.
  double backlog = 1;
  /// 1: below the aim, a forward that has arrived goes before a gradient that
  /// has. 0: the gradient goes first.
  double forwardFirst = 0;
  /// 1: where a forward lacks no more memory than one W frees, that W goes
  /// before a gradient, so that as many as possible stay in flight.
  double makeRoom = 0;
  /// Part of the allowed idle time that a rank spends on not delaying F and I
  /// by W, as long as it lasts.
  double idle = 0;
};

/// The time that each rank may be idle after its first start if the objective
/// is to be `target`.
std::vector<Ticks> allowedIdle(const FastProblem &problem, Ticks target,
                               bool span);

/// An order within memory; needs one stage per rank, and memory for one
/// microbatch on each.
FastOrders constructGreedy(const FastProblem &problem,
                           const GreedySettings &settings,
                           const std::vector<Ticks> &idle);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_GREEDY_H
