//===- VMoves.h - moves in orders of any placement --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A move takes one action of a rank to another position of its order. Only
// actions that started no earlier than the changed position are timed again,
// and only until a limit on the objective is exceeded. Words does the same for
// one stage per rank, where the kind of an action is enough to identify it.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VMOVES_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VMOVES_H

#include "Search/FastTiming.h"

namespace stagewright::search {

/// Moves the action at position `from` of the order of `rank` to `to`.
struct OrderMove {
  int32_t rank = 0, from = 0, to = 0;
};

/// Actions of a rank with no idle time between them.
struct Block {
  int32_t rank = 0, first = 0, last = 0;
};

class MovableOrders {
public:
  /// `orders` must be complete and free of deadlocks.
  MovableOrders(const FastProblem &problem, bool span,
                const FastOrders &orders);

  const FastOrders &get() const { return orders; }
  int32_t length(int32_t rank) const { return int32_t(orders[rank].size()); }
  /// The objective: the largest span of a rank, or the makespan.
  Ticks value() const { return worst; }
  /// The mean over the ranks of the value whose maximum is the objective.
  Ticks mean() const;

  /// Whether `move` keeps the rank's dependences, the order of microbatches and
  /// the memory limit.
  bool allowed(const OrderMove &move) const;
  /// Applies `move` and times it; false if it deadlocks or the objective
  /// exceeds `limit`. Subtracts from `left` the number of actions to time
  /// again, even if the timing stops early. The caller must call keep() or
  /// drop() next.
  bool attempt(const OrderMove &move, Ticks limit, int64_t &left);
  void keep();
  void drop();

  /// A chain of blocks backwards from the end of the worst rank: the first
  /// action of each waited for the last action of the next in `path`.
  void criticalPath(std::vector<Block> &path) const;

private:
  bool keepsSequence(const OrderMove &move) const;
  bool keepsMemory(const OrderMove &move) const;
  void rotate(int32_t rank, int32_t from, int32_t to);
  void forget(Ticks since);
  void note(int32_t rank, int32_t from, int32_t to);
  const Lane &laneAt(int32_t rank, int32_t at) const {
    return problem.lanes[problem.laneOf(orders[rank][at])];
  }
  Ticks valueOf(int32_t rank) const {
    const RankClock &clock = timer.clocks[rank];
    return span ? clock.end - clock.start : clock.end;
  }

  const FastProblem &problem;
  bool span;
  FastOrders orders;
  FastTimer timer;
  Ticks worst = 0, keptWorst = 0;
  std::vector<Ticks> keptEnds;                 ///< By code.
  std::vector<int32_t> place;                  ///< By code.
  std::vector<std::vector<Grains>> heldBefore; ///< By rank and position.
  std::vector<RankClock> keptClocks;
  std::vector<int32_t> cut; ///< By rank: the first position timed again.
  OrderMove current;
};

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VMOVES_H
