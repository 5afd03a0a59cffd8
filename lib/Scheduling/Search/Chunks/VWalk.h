//===- VWalk.h - orders from a plan, by list scheduling ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A *plan* is an order for every rank that respects inputs and memory, and a
// due time for every action. If ranks followed it unchanged, they might wait
// often. The walk advances time and, while an action's input has not arrived,
// lets the rank start one that is due later, if the rest of the rank's order
// then still fits the memory. So the first remaining action of the plan can
// always run, and the walk cannot deadlock. At any time, the actions started
// followed by the rest of the plan are an order that fits the memory.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VWALK_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VWALK_H

#include "Search/WakeTimes.h"
#include <array>

namespace stagewright::search {

/// A phase of a stage, as the walk needs it.
struct WalkLane {
  Ticks duration = 0;
  int32_t rank = 0;
  Grains taken = 0, freed = 0; ///< At its start, at its end.
  int32_t inputs = 0;          ///< Number of lanes it waits for.
  /// Lanes that wait for it (-1: none), and the delay after its end.
  std::array<std::pair<int32_t, Ticks>, 2> outputs = {{{-1, 0}, {-1, 0}}};
};

/// The dependences between lanes, which are numbered as in FastProblem.
struct WalkProblem {
  int32_t ranks = 1, microbatches = 1, shift = 0;
  std::vector<WalkLane> lanes;
  std::vector<std::vector<int32_t>> lanesOf; ///< By rank.
  Grains memory = 0;
  Ticks period = 0; ///< Work of the busiest rank for one microbatch, or longer
                    ///< if a microbatch passes very long hops.

  explicit WalkProblem(const FastProblem &problem);
};

/// Orders, and the due time of each action, by code.
struct WalkPlan {
  FastOrders orders;
  std::vector<Ticks> due;
};

/// The settings of a walk. Times are in periods.
struct WalkSettings {
  /// How much the due time is reduced: for I, and for each stage of the rank
  /// before the action's own.
  double preferInput = 0, preferLater = 0;
  /// A rank waits for an action due earlier instead of starting another one if
  /// the wait is at most this part of the other's time; `patienceFilling` is
  /// for the time until the rank's first I, `patience` after it.
  double patience = 0.5, patienceFilling = 1;
  /// A gap is filled with a W if that is longer by at most this part of the
  /// gap.
  double overfill = 0;
  int32_t stock = 1 << 20; ///< Max number of delayed W while forwards remain.
  double pullMemory = 1;   ///< Part of the memory that early starts may use.
};

class Walk {
public:
  explicit Walk(const WalkProblem &problem);

  /// Walks until time `until`; actions not started by then are appended in the
  /// order of the plan.
  const FastOrders &run(const WalkPlan &plan, const WalkSettings &settings,
                        Ticks until);

private:
  struct Choice {
    int32_t lane = -1;
    Ticks due = 0;
  };

  void reset();
  /// The lane whose next action `rank` starts now; -1: it waits.
  int32_t decide(int32_t rank, Ticks now) const;
  /// The first action due among those that have arrived: of the W (`weights`),
  /// or of the F and I.
  Choice dueFirst(int32_t rank, Ticks now, bool weights) const;
  /// The first arrival, after `now` and before `horizon`, of an F or I that is
  /// due before `best`; kNever: none.
  Ticks arrivesSoon(int32_t rank, Ticks now, Choice best, Ticks horizon) const;
  /// The next time after `now` at which the inputs of an action of `rank` will
  /// have arrived, if one is known; else kNever.
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
  std::vector<Ticks> arrival;   ///< By code: of inputs started so far.
  std::vector<char> started;    ///< By code.
  std::vector<int32_t> next;    ///< By lane: microbatches started.
  std::vector<Ticks> freeAt;    ///< By rank.
  std::vector<int32_t> head;    ///< By rank: first of its plan not started.
  std::vector<Grains> held;
  std::vector<int32_t> stock, inputsDone, forwardsLeft;
  WakeTimes wake; ///< When to decide for a rank: when it is free, or later.
  FastOrders orders;
};

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VWALK_H
