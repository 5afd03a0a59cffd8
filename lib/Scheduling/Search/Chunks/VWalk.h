//===- VWalk.h - orders from a pattern, by a walk through time --*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A *plan* is an order for every rank that respects inputs and memory, with a
// time for every action at which it is due. Run as it stands it may wait a lot.
// The walk goes through time and lets a rank start an action that is due later
// while an earlier one has not arrived, provided that what is left of the
// rank's order would still fit the memory. So the earliest action left anywhere
// can always run and the walk never gets stuck; and at any moment the actions
// started, followed by what is left of the plan, are an order that fits.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VWALK_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VWALK_H

#include "Search/WakeTimes.h"
#include <array>

namespace stagewright::search {

/// A phase of a stage as the walk sees it.
struct WalkLane {
  Ticks duration = 0;
  int32_t rank = 0;
  Grains taken = 0, freed = 0; ///< At its start, at its end.
  int32_t inputs = 0;          ///< How many lanes it waits for.
  /// Lanes that wait for it and after what delay; -1: none.
  std::array<std::pair<int32_t, Ticks>, 2> outputs = {{{-1, 0}, {-1, 0}}};
};

/// Who waits for whom; lanes are numbered as in FastProblem.
struct WalkProblem {
  int32_t ranks = 1, microbatches = 1, shift = 0;
  std::vector<WalkLane> lanes;
  std::vector<std::vector<int32_t>> lanesOf; ///< By rank.
  Grains memory = 0;
  Ticks period = 0; ///< Work of the busiest rank for one microbatch.

  explicit WalkProblem(const FastProblem &problem);
};

/// Orders and when each action is due, by code.
struct WalkPlan {
  FastOrders orders;
  std::vector<Ticks> due;
};

/// What steers a walk. Times are in periods.
struct WalkSettings {
  /// How much earlier than due: backwards, and stages later on a rank.
  double preferInput = 0, preferLater = 0;
  /// Wait for an action due earlier rather than start another one if the wait
  /// is at most this part of what the other takes; before and after the first I
  /// of the rank.
  double patience = 0.5, patienceFilling = 1;
  /// A gap is filled with a W if that is at most this much longer.
  double overfill = 0;
  int32_t stock = 1 << 20; ///< Most W put off while there is another action.
  double pullMemory = 1;   ///< Part of the memory that early actions may fill.
};

class Walk {
public:
  explicit Walk(const WalkProblem &problem);

  /// Walks until the time `until`; what has not started by then follows in the
  /// order of the plan.
  const FastOrders &run(const WalkPlan &plan, const WalkSettings &settings,
                        Ticks until);

private:
  struct Choice {
    int32_t lane = -1;
    Ticks due = 0;
  };

  void reset();
  /// The lane of which `rank` starts an action now; -1: it waits.
  int32_t decide(int32_t rank, Ticks now) const;
  /// The arrived action that is due first, of the W or of all others.
  Choice dueFirst(int32_t rank, Ticks now, bool weights) const;
  /// When the first action arrives that is due before `best`, before `horizon`.
  Ticks arrivesSoon(int32_t rank, Ticks now, Choice best, Ticks horizon) const;
  /// When the next action of `rank` arrives, of those known by now.
  Ticks arrivesNext(int32_t rank, Ticks now) const;
  void start(int32_t rank, int32_t lane, Ticks now);
  bool fits(int32_t rank, int32_t lane) const;
  Ticks dueOf(int32_t lane) const {
    return plan->due[(lane << problem.shift) | next[lane]] - bias[lane];
  }

  const WalkProblem &problem;
  const WalkPlan *plan = nullptr;
  const WalkSettings *settings = nullptr;
  Grains pullLimit = 0;
  std::vector<Ticks> bias;      ///< By lane.
  std::vector<int32_t> place;   ///< By code: its index in the plan.
  std::vector<int32_t> missing; ///< By code: inputs not yet started.
  std::vector<Ticks> arrival;   ///< By code; of the inputs started so far.
  std::vector<char> started;    ///< By code.
  std::vector<int32_t> next;    ///< By lane: microbatches started.
  std::vector<Ticks> freeAt;    ///< By rank.
  std::vector<int32_t> head;    ///< By rank: first of the plan not started.
  std::vector<Grains> held;
  std::vector<int32_t> stock, inputsDone, forwardsLeft;
  WakeTimes wake; ///< When to decide; ranks are looked at when free.
  FastOrders orders;
};

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VWALK_H
