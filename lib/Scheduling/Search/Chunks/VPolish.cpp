//===- VPolish.cpp - annealing along the critical path --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Chunks/VPolish.h"
#include "Search/Chunks/VMoves.h"
#include "Search/Chunks/VWalk.h"
#include <algorithm>
#include <cmath>
#include <random>

namespace stagewright::search {

namespace {

/// Weight of the mean over the ranks, relative to the objective: it
/// distinguishes moves that do not change the worst rank.
constexpr double kMeanWeight = 0.2;
/// The first temperature, in periods.
constexpr double kTemperature = 0.02;

class Polisher {
public:
  Polisher(const FastProblem &problem, const FastOrders &orders, bool span)
      : state(problem, span, orders), value(state.value()), orders(orders) {
    temperature = kTemperature * double(WalkProblem(problem).period);
    for (const Lane &lane : problem.lanes)
      work += double(lane.duration) * problem.microbatches / problem.ranks;
  }
  void run(int64_t budget, Ticks bound);

  const FastOrders &best() const { return orders; }

private:
  int32_t below(int32_t n) { return int32_t(random() % uint64_t(n)); }
  OrderMove propose();
  double cost() const {
    return double(state.value()) + kMeanWeight * double(state.mean());
  }

  MovableOrders state;
  std::vector<Block> path;
  std::mt19937_64 random{1};
  double temperature = 0;
  double work = 0; ///< Mean work of a rank: a lower bound of mean().
  Ticks value;     ///< Of `orders`, the best so far.
  FastOrders orders;
};

} // namespace

OrderMove Polisher::propose() {
  const Block &block = path[below(int32_t(path.size()))];
  int32_t length = block.last - block.first + 1, last = block.last;
  int32_t kind = below(10);
  if (kind < 4 && length > 1) {
    // To a place after the block; more often an action near its end.
    int32_t from = length > 8 && below(2) ? last - 1 - below(8)
                                          : last - 1 - below(length - 1);
    int32_t far = below(4) ? 0 : below(below(2) ? 6 : 60);
    return {block.rank, from, last + far};
  }
  if (kind < 7 && length > 1)
    return {block.rank, last,
            last - 1 - below(std::min(length - 1, below(2) ? 3 : 40))};
  if (kind < 9)
    return {block.rank, block.first + below(length),
            block.first - 1 - below(below(2) ? 4 : 60)};
  int32_t from = below(state.length(block.rank));
  return {block.rank, from, from + below(20) - 10};
}

void Polisher::run(int64_t budget, Ticks bound) {
  int64_t left = budget;
  double current = cost();
  state.criticalPath(path);
  while (left > 0 && value > bound) {
    // Proposing a move takes about as long as timing 20 actions.
    left -= 20;
    OrderMove move = propose();
    if (!state.allowed(move))
      continue;
    double cooled = temperature * double(left) / double(budget);
    double slack = -cooled * std::log((double(random() >> 11) + 1) * 0x1p-53);
    double limit = current + std::max(slack, 0.0);
    if (!state.attempt(move, Ticks(limit - kMeanWeight * work), left) ||
        cost() > limit) {
      state.drop();
      continue;
    }
    state.keep();
    current = cost();
    state.criticalPath(path);
    if (state.value() < value) {
      value = state.value();
      orders = state.get();
    }
  }
}

void polish(const FastProblem &problem, const FastOrders &orders, Best &best,
            int64_t budget) {
  bool span = best.options.objective == ScheduleObjective::Span;
  Polisher polisher(problem, orders, span);
  // No order can be better than the bound, so stop there.
  polisher.run(budget, Ticks(best.bound().value / problem.tick));
  FastTimer timer(problem);
  if (timer.run(polisher.best()))
    best.offer(polisher.best(), timer, problem, "moves");
}

} // namespace stagewright::search
