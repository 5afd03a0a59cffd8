//===- VMoves.cpp - moves in orders of any placement ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Chunks/VMoves.h"
#include "Search/WakeTimes.h"
#include <algorithm>

namespace stagewright::search {

MovableOrders::MovableOrders(const FastProblem &problem, bool span,
                             const FastOrders &given)
    : problem(problem), span(span), orders(given), timer(problem),
      keptEnds(timer.ends.size()), place(timer.ends.size()),
      heldBefore(problem.ranks), cut(problem.ranks) {
  for (int32_t rank = 0; rank < problem.ranks; ++rank) {
    heldBefore[rank].resize(orders[rank].size());
    note(rank, 0, length(rank) - 1);
  }
  timer.run(orders);
  keptWorst = worst = span ? timer.span() : timer.makespan();
}

Ticks MovableOrders::mean() const {
  Ticks sum = 0;
  for (int32_t rank = 0; rank < problem.ranks; ++rank)
    sum += valueOf(rank);
  return sum / problem.ranks;
}

/// Updates places and memory between `from` and `to` after a change.
void MovableOrders::note(int32_t rank, int32_t from, int32_t to) {
  Grains held = 0;
  if (from > 0)
    held = heldBefore[rank][from - 1] + laneAt(rank, from - 1).taken -
           laneAt(rank, from - 1).freed;
  for (int32_t at = from; at <= to; ++at) {
    heldBefore[rank][at] = held;
    held += laneAt(rank, at).taken - laneAt(rank, at).freed;
    place[orders[rank][at]] = at;
  }
}

/// A lane runs the microbatches in order. On one rank all phases of one
/// microbatch keep their order, except W, which only has to follow its I.
bool MovableOrders::keepsSequence(const OrderMove &move) const {
  const std::vector<Code> &order = orders[move.rank];
  Code code = order[move.from];
  int32_t mask = (1 << problem.shift) - 1, lane = problem.laneOf(code);
  int32_t low = std::min(move.from + 1, move.to);
  int32_t high = std::max(move.from - 1, move.to);
  for (int32_t at = low; at <= high; ++at) {
    int32_t other = problem.laneOf(order[at]);
    if (other == lane)
      return false;
    bool weight = lane % 3 == W || other % 3 == W;
    if (((order[at] ^ code) & mask) == 0 && (!weight || other / 3 == lane / 3))
      return false;
  }
  return true;
}

bool MovableOrders::keepsMemory(const OrderMove &move) const {
  const std::vector<Grains> &held = heldBefore[move.rank];
  const Lane &moved = laneAt(move.rank, move.from);
  Grains change = moved.taken - moved.freed;
  // An action that moves earlier adds its change of memory to all actions that
  // it passes; one that moves later subtracts it.
  bool later = move.to > move.from;
  Grains shift = later ? -change : change;
  if (held[move.to] + (later ? 0 : moved.taken) > problem.memory)
    return false;
  if (shift <= 0)
    return true;
  int32_t low = later ? move.from + 1 : move.to;
  int32_t high = later ? move.to : move.from - 1;
  for (int32_t at = low; at <= high; ++at)
    if (held[at] + shift + laneAt(move.rank, at).taken > problem.memory)
      return false;
  return true;
}

bool MovableOrders::allowed(const OrderMove &move) const {
  return move.to >= 0 && move.to < length(move.rank) && move.to != move.from &&
         keepsSequence(move) && keepsMemory(move);
}

void MovableOrders::rotate(int32_t rank, int32_t from, int32_t to) {
  auto begin = orders[rank].begin();
  if (to > from)
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  else
    std::rotate(begin + to, begin + from, begin + from + 1);
}

bool MovableOrders::attempt(const OrderMove &move, Ticks limit, int64_t &left) {
  current = move;
  Ticks since = timer.startOf(orders[move.rank][std::min(move.from, move.to)]);
  rotate(move.rank, move.from, move.to);
  forget(since);
  bool done = timer.resume(orders, limit, span);
  worst = span ? timer.span() : timer.makespan();
  for (int32_t rank = 0; rank < problem.ranks; ++rank)
    left -= length(rank) - cut[rank];
  return done;
}

/// Forgets the times of all actions that started at `since` or later.
void MovableOrders::forget(Ticks since) {
  keptClocks = timer.clocks;
  for (int32_t rank = 0; rank < problem.ranks; ++rank) {
    const std::vector<Code> &order = orders[rank];
    auto first =
        std::partition_point(order.begin(), order.end(), [&](Code code) {
          return timer.startOf(code) < since;
        });
    RankClock &clock = timer.clocks[rank];
    cut[rank] = clock.next = int32_t(first - order.begin());
    clock.end = first == order.begin() ? 0 : timer.ends[*(first - 1)];
    clock.left = 0;
    for (auto it = first; it != order.end(); ++it) {
      keptEnds[*it] = timer.ends[*it];
      timer.ends[*it] = -1;
      clock.left += problem.lanes[problem.laneOf(*it)].duration;
    }
  }
}

void MovableOrders::keep() {
  keptWorst = worst;
  note(current.rank, std::min(current.from, current.to),
       std::max(current.from, current.to));
}

void MovableOrders::drop() {
  for (int32_t rank = 0; rank < problem.ranks; ++rank)
    for (int32_t at = cut[rank]; at < length(rank); ++at)
      timer.ends[orders[rank][at]] = keptEnds[orders[rank][at]];
  timer.clocks = keptClocks;
  worst = keptWorst;
  rotate(current.rank, current.to, current.from);
}

void MovableOrders::criticalPath(std::vector<Block> &path) const {
  path.clear();
  int32_t rank = 0, mask = (1 << problem.shift) - 1;
  while (valueOf(rank) < worst)
    ++rank;
  for (int32_t last = length(rank) - 1;;) {
    int32_t first = last;
    while (first > 0 && timer.ends[orders[rank][first - 1]] ==
                            timer.startOf(orders[rank][first]))
      --first;
    path.push_back({rank, first, last});
    int32_t input = laneAt(rank, first).input;
    if (input < 0)
      return;
    Code code = (input << problem.shift) | (orders[rank][first] & mask);
    rank = problem.lanes[input].rank;
    last = place[code];
  }
}

} // namespace stagewright::search
