//===- VPattern.cpp - plans from a periodic pattern -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Chunks/VPattern.h"
#include <algorithm>

namespace stagewright::search {

static Ticks periodOf(const FastProblem &problem) {
  std::vector<Ticks> work(problem.ranks);
  Ticks alone = 0;
  for (const Lane &lane : problem.lanes) {
    work[lane.rank] += lane.duration;
    alone += lane.duration + lane.hop;
  }
  // With hops so long that all microbatches are in flight at once, a shorter
  // period would not improve the order; the pattern would only have more
  // periods.
  Ticks least = alone / (2 * (problem.microbatches + problem.stages));
  return std::max(
      {*std::max_element(work.begin(), work.end()), least, Ticks(1)});
}

/// Lanes of FastProblem have their input; the walk also needs their outputs.
WalkProblem::WalkProblem(const FastProblem &problem)
    : ranks(problem.ranks), microbatches(problem.microbatches),
      shift(problem.shift), lanes(problem.lanes.size()), lanesOf(problem.ranks),
      memory(problem.memory), period(periodOf(problem)) {
  auto connect = [&](int32_t from, int32_t to, Ticks delay) {
    auto &outputs = lanes[from].outputs;
    outputs[outputs[0].first < 0 ? 0 : 1] = {to, delay};
    ++lanes[to].inputs;
  };
  for (int32_t s = 0; s < problem.stages; ++s) {
    for (int32_t phase = 0; phase < problem.phases; ++phase) {
      int32_t number = 3 * s + phase;
      const Lane &lane = problem.lanes[number];
      WalkLane &walk = lanes[number];
      walk.duration = lane.duration;
      walk.rank = lane.rank;
      walk.taken = lane.taken;
      walk.freed = lane.freed;
      if (lane.input >= 0)
        connect(lane.input, number, lane.hop);
    }
    if (problem.phases == 3)
      connect(3 * s + I, 3 * s + W, 0);
  }
  if (int32_t last = problem.stages - 1; problem.phases > 1)
    connect(3 * last + F, 3 * last + I, 0);
  for (int32_t rank = 0; rank < ranks; ++rank)
    for (int32_t stage : problem.stagesOf[rank])
      for (int32_t phase = 0; phase < problem.phases; ++phase)
        lanesOf[rank].push_back(3 * stage + phase);
}

static std::vector<Ticks> offsetsOf(const FastProblem &problem,
                                    const PatternSettings &settings) {
  Ticks period = periodOf(problem), time = 0;
  std::vector<Ticks> offsets(problem.lanes.size());
  auto periods = [&](double part) { return Ticks(part * double(period)); };
  auto step = [&](int32_t lane, double lag) {
    const Lane &to = problem.lanes[lane], &from = problem.lanes[to.input];
    Ticks least = from.duration + to.hop;
    time += from.rank == to.rank ? least : std::max(least, periods(lag));
  };
  for (int32_t s = 0; s < problem.stages; ++s) {
    if (s > 0)
      step(3 * s + F, settings.lagForward);
    offsets[3 * s + F] = time;
  }
  if (problem.phases == 1)
    return offsets;
  int32_t last = problem.stages - 1;
  time += problem.lane(last, F).duration + periods(settings.turn);
  for (int32_t s = last; s >= 0; --s) {
    if (s < last)
      step(3 * s + I, settings.lagBackward);
    offsets[3 * s + I] = time;
    offsets[3 * s + W] =
        time + problem.lane(s, I).duration + periods(settings.delayWeight);
  }
  return offsets;
}

/// The actions of `rank` in the order of their due times. Every period has the
/// lanes in the same order; a lane may start a number of periods after the
/// first.
static std::vector<Code> orderOf(const FastProblem &problem, int32_t rank,
                                 const std::vector<Ticks> &offsets,
                                 Ticks period) {
  struct Turn {
    Ticks within;
    int32_t lane, periods;
    auto operator<=>(const Turn &) const = default;
  };
  std::vector<Turn> turns;
  int32_t last = 0;
  for (int32_t stage : problem.stagesOf[rank])
    for (int32_t phase = 0; phase < problem.phases; ++phase) {
      int32_t lane = 3 * stage + phase;
      int32_t periods = int32_t(offsets[lane] / period);
      turns.push_back({offsets[lane] % period, lane, periods});
      last = std::max(last, periods);
    }
  std::sort(turns.begin(), turns.end());
  std::vector<Code> order;
  order.reserve(problem.actionsPerRank(rank));
  for (int32_t n = 0; n < last + problem.microbatches; ++n)
    for (const Turn &turn : turns)
      if (int32_t j = n - turn.periods; j >= 0 && j < problem.microbatches)
        order.push_back((turn.lane << problem.shift) | j);
  return order;
}

std::optional<WalkPlan> layOutPattern(const FastProblem &problem,
                                      const PatternSettings &settings) {
  std::vector<Ticks> offsets = offsetsOf(problem, settings);
  Ticks period = Ticks(settings.stretch * double(periodOf(problem)));
  WalkPlan plan;
  for (int32_t rank = 0; rank < problem.ranks; ++rank) {
    plan.orders.push_back(orderOf(problem, rank, offsets, period));
    if (peakOf(plan.orders.back(), problem) > problem.memory)
      return std::nullopt;
  }
  plan.due.resize(problem.lanes.size() << problem.shift);
  for (size_t lane = 0; lane < offsets.size(); ++lane)
    for (int32_t j = 0; j < problem.microbatches; ++j)
      plan.due[(lane << problem.shift) | j] = offsets[lane] + j * period;
  return plan;
}

} // namespace stagewright::search
