//===- FastTiming.cpp - fast timing for searches --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/FastTiming.h"
#include <algorithm>
#include <cmath>

namespace stagewright::search {

/// The power of two that scales `total` to almost 2^bits, never above: numbers
/// with few digits stay exact, and their sums fit an int64_t.
static double scaleFor(double total, int bits) {
  if (!(total > 0))
    return 1;
  int exponent = 0;
  std::frexp(total, &exponent);
  return std::ldexp(1.0, std::clamp(bits - exponent, -1000, 1000));
}

static void addLanes(FastProblem &result, const ScheduleProblem &problem,
                     bool split, double timeScale, double memoryScale) {
  auto ticks = [&](Seconds s) { return std::llround(s.value * timeScale); };
  auto grains = [&](double a) { return std::llround(a * memoryScale); };
  for (int32_t s = 0; s < result.stages; ++s) {
    const StageCosts &costs = problem.stages[s];
    int32_t rank = int32_t(problem.rankOf(s));
    Lane f, i, w;
    f.rank = i.rank = w.rank = rank;
    f.duration = ticks(costs.forward);
    i.duration = ticks(costs.inputGradient);
    w.duration = ticks(costs.weightGradient);
    f.taken = grains(costs.activation);
    w.freed = grains(costs.kept);
    i.freed = f.taken - w.freed;
    if (!split) {
      i.duration += w.duration;
      i.freed = f.taken;
      w = Lane();
    }
    if (problem.forwardOnly)
      f.freed = f.taken;
    if (s > 0) {
      f.input = 3 * (s - 1) + F;
      f.hop = ticks(problem.hopAfter(s - 1));
      if (problem.rankOf(s - 1) != rank)
        i.consumer = int32_t(problem.rankOf(s - 1));
    }
    if (s + 1 < result.stages) {
      i.input = 3 * (s + 1) + I;
      i.hop = ticks(problem.hopAfter(s));
      if (problem.rankOf(s + 1) != rank)
        f.consumer = int32_t(problem.rankOf(s + 1));
    }
    result.lanes.insert(result.lanes.end(), {f, i, w});
  }
}

FastProblem FastProblem::of(const ScheduleProblem &problem, bool split) {
  FastProblem result;
  result.ranks = int32_t(problem.ranks);
  result.stages = int32_t(problem.numStages());
  result.microbatches = int32_t(problem.microbatches);
  while ((int64_t(1) << result.shift) < problem.microbatches)
    ++result.shift;
  result.phases = problem.forwardOnly ? 1 : split ? 3 : 2;

  double time = 0, activation = 0;
  for (const StageCosts &stage : problem.stages) {
    time += stage.total().value * double(problem.microbatches);
    activation += stage.activation * double(problem.microbatches);
  }
  for (Seconds hop : problem.hops)
    time += 2 * hop.value * double(problem.microbatches);
  double timeScale = scaleFor(time, 52), memoryScale = scaleFor(activation, 52);
  result.tick = 1 / timeScale;
  addLanes(result, problem, split, timeScale, memoryScale);
  // An order must not be refused because of the rounding errors of sums.
  double limit = std::min(problem.memory, 2 * activation) * (1 + 1e-9);
  result.memory = std::llround(limit * memoryScale) + 2 * problem.microbatches;
  for (int64_t rank = 0; rank < problem.ranks; ++rank) {
    std::vector<int32_t> &stages = result.stagesOf.emplace_back();
    for (int64_t stage :
         stagewright::stagesOf(problem.placement, problem.ranks, problem.chunks,
                               rank, problem.spare))
      stages.push_back(int32_t(stage));
  }
  return result;
}

FastOrders encode(const Schedule &schedule, const FastProblem &problem) {
  FastOrders orders(schedule.ranks.size());
  for (size_t rank = 0; rank < orders.size(); ++rank)
    for (const Action &action : schedule.ranks[rank]) {
      auto add = [&](Phase phase) {
        if (phase < problem.phases)
          orders[rank].push_back(problem.code(int32_t(action.stage), phase,
                                              int32_t(action.microbatch)));
      };
      if (action.kind == ActionKind::Forward)
        add(F);
      if (action.kind == ActionKind::InputGradient ||
          action.kind == ActionKind::Backward)
        add(I);
      if (action.kind == ActionKind::WeightGradient ||
          action.kind == ActionKind::Backward)
        add(W);
    }
  return orders;
}

Schedule decode(const FastOrders &orders, const FastProblem &problem,
                std::string kind) {
  Schedule schedule{std::move(kind), problem.stages, problem.microbatches, {}};
  for (const std::vector<Code> &codes : orders) {
    Order &order = schedule.ranks.emplace_back();
    order.reserve(codes.size());
    for (Code code : codes) {
      using enum ActionKind;
      Phase phase = problem.phaseOf(code);
      ActionKind backward = problem.phases == 2 ? Backward : InputGradient;
      order.push_back({phase == F   ? Forward
                       : phase == I ? backward
                                    : WeightGradient,
                       problem.stageOf(code), problem.microbatchOf(code)});
    }
  }
  return schedule;
}

Grains peakOf(std::span<const Code> order, const FastProblem &problem) {
  Grains held = 0, peak = 0;
  for (Code code : order) {
    const Lane &lane = problem.lanes[problem.laneOf(code)];
    held += lane.taken;
    peak = std::max(peak, held);
    held -= lane.freed;
  }
  return peak;
}

/// Runs `rank` until it has to wait. Returns false if it exceeds `limit`.
template <bool limited>
bool FastTimer::runRank(const std::vector<Code> &order, int32_t rank,
                        Ticks limit, bool span) {
  RankClock &clock = clocks[rank];
  int32_t mask = (1 << problem.shift) - 1, at = clock.next;
  Ticks time = clock.end, left = clock.left;
  clock.waitingFor = -1;
  for (; at < int32_t(order.size()); ++at) {
    Code code = order[at];
    const Lane &lane = problem.lanes[code >> problem.shift];
    Ticks start = time;
    if (lane.input >= 0) {
      Code input = (lane.input << problem.shift) | (code & mask);
      if (ends[input] < 0) {
        clock.waitingFor = input;
        break;
      }
      start = std::max(start, ends[input] + lane.hop);
    }
    if (at == 0)
      clock.start = start;
    if (limited && start + left - (span ? clock.start : 0) > limit)
      return false;
    ends[code] = time = start + lane.duration;
    if (limited)
      left -= lane.duration;
    if (lane.consumer >= 0 && clocks[lane.consumer].waitingFor == code) {
      clocks[lane.consumer].waitingFor = -1;
      ready.push_back(lane.consumer);
    }
  }
  clock.end = time;
  clock.left = left;
  clock.next = at;
  return true;
}

template <bool limited>
bool FastTimer::runAll(const FastOrders &orders, Ticks limit, bool span) {
  ready.clear();
  for (int32_t rank = problem.ranks; rank-- > 0;) {
    clocks[rank].waitingFor = -1;
    ready.push_back(rank);
  }
  while (!ready.empty()) {
    int32_t rank = ready.back();
    ready.pop_back();
    if (!runRank<limited>(orders[rank], rank, limit, span))
      return false;
  }
  makespanTicks = spanTicks = 0;
  for (int32_t rank = 0; rank < problem.ranks; ++rank) {
    const RankClock &clock = clocks[rank];
    if (clock.next < int32_t(orders[rank].size()))
      return false;
    makespanTicks = std::max(makespanTicks, clock.end);
    spanTicks = std::max(spanTicks, clock.end - clock.start);
  }
  return true;
}

bool FastTimer::run(const FastOrders &orders) {
  std::fill(ends.begin(), ends.end(), -1);
  std::fill(clocks.begin(), clocks.end(), RankClock());
  return runAll<false>(orders, 0, false);
}

bool FastTimer::resume(const FastOrders &orders, Ticks limit, bool span) {
  return runAll<true>(orders, limit, span) &&
         (span ? spanTicks : makespanTicks) <= limit;
}

} // namespace stagewright::search
