//===- NaiveTiming.cpp - times by brute force -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Naive.h"
#include <algorithm>
#include <map>
#include <set>

namespace stagewright::testing {

namespace {

class Runner {
public:
  Runner(const Schedule &schedule, const ScheduleProblem &problem)
      : schedule(schedule), problem(problem) {
    timing.times.resize(schedule.ranks.size());
    for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
      for (const Action &action : schedule.ranks[rank]) {
        rankOf[cellOf(action)] = rank;
        if (letterOf(action) == 'R')
          recomputed.insert(cellOf(action));
      }
  }

  std::optional<NaiveTiming> run();

private:
  double lengthOf(const Action &action) const;
  std::optional<double> ready(const Action &action);
  bool step(size_t rank);
  double peakOf(size_t rank) const;

  const Schedule &schedule;
  const ScheduleProblem &problem;
  std::map<Cell, size_t> rankOf;
  std::set<Cell> recomputed;
  /// By phase ('F', 'R', 'I', 'W') and cell: when it ended.
  std::map<std::pair<char, Cell>, double> done;
  NaiveTiming timing;
};

} // namespace

double Runner::lengthOf(const Action &action) const {
  const StageCosts &stage = problem.stages[action.stage];
  double i = stage.inputGradient.value, w = stage.weightGradient.value;
  switch (letterOf(action)) {
  case 'B':
    return i + w;
  case 'I':
    return i;
  case 'W':
    return w;
  default:
    return stage.forward.value;
  }
}

/// When all inputs of `action` are available; none if not all have run.
std::optional<double> Runner::ready(const Action &action) {
  auto [stage, m] = cellOf(action);
  std::vector<std::pair<char, Cell>> needs;
  char kind = letterOf(action);
  if (kind == 'F' && stage > 0)
    needs.push_back({'F', {stage - 1, m}});
  if (kind != 'F')
    needs.push_back({'F', {stage, m}});
  if (kind == 'W')
    needs.push_back({'I', {stage, m}});
  bool backward = kind == 'B' || kind == 'I';
  if (backward && recomputed.contains({stage, m}))
    needs.push_back({'R', {stage, m}});
  if (backward && stage + 1 < schedule.stages)
    needs.push_back({'I', {stage + 1, m}});
  double at = 0;
  for (const auto &need : needs) {
    if (!done.contains(need))
      return std::nullopt;
    int64_t from = need.second.first;
    bool apart = rankOf[need.second] != rankOf[cellOf(action)];
    double hop = apart ? problem.hops[std::min(from, stage)].value : 0;
    at = std::max(at, done[need] + hop);
  }
  return at;
}

/// Runs the next action or pair of `rank` if it can start.
bool Runner::step(size_t rank) {
  const Order &order = schedule.ranks[rank];
  auto &times = timing.times[rank];
  size_t first = times.size();
  if (first == order.size())
    return false;
  size_t last = first + (first + 1 < order.size() && order[first + 1].paired);
  double start = first == 0 ? 0 : times[first - 1].second, together = 0;
  std::vector<double> at;
  for (size_t i = first; i <= last; ++i) {
    std::optional<double> now = ready(order[i]);
    if (!now)
      return false;
    at.push_back(*now);
    together += lengthOf(order[i]) * problem.overlap;
  }
  bool overlaps = last > first && problem.overlap > 0;
  if (overlaps)
    start = std::max({start, at[0], at[1]});
  for (size_t i = first; i <= last; ++i) {
    if (!overlaps)
      start = std::max(start, at[i - first]);
    double end = start + (overlaps ? together : lengthOf(order[i]));
    times.push_back({start, end});
    char kind = letterOf(order[i]);
    done[{kind == 'B' ? 'I' : kind, cellOf(order[i])}] = end;
    start = overlaps ? start : end;
  }
  return true;
}

/// The memory peak of `rank`: sums over its cells anew during every action.
double Runner::peakOf(size_t rank) const {
  std::map<Cell, double> held;
  double peak = 0;
  for (const Action &action : schedule.ranks[rank]) {
    const StageCosts &stage = problem.stages[action.stage];
    double &now = held[cellOf(action)];
    char kind = letterOf(action);
    if (kind == 'F' || kind == 'R')
      now = stage.activation;
    double sum = 0;
    for (auto &[cell, amount] : held)
      sum += amount;
    peak = std::max(peak, sum);
    if (kind == 'F' && recomputed.contains(cellOf(action)))
      now = stage.recomputeInput;
    if (kind == 'I')
      now = stage.kept;
    if (kind == 'B' || kind == 'W' || problem.forwardOnly)
      now = 0;
  }
  return peak;
}

std::optional<NaiveTiming> Runner::run() {
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
      progress = step(rank) || progress;
  }
  double low = 1e300, high = -1e300;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    const auto &times = timing.times[rank];
    if (times.size() != schedule.ranks[rank].size())
      return std::nullopt;
    timing.peaks.push_back(peakOf(rank));
    if (times.empty())
      continue;
    low = std::min(low, times.front().first);
    high = std::max(high, times.back().second);
    timing.span =
        std::max(timing.span, times.back().second - times.front().first);
  }
  timing.makespan = std::max(0., high - low);
  return timing;
}

std::optional<NaiveTiming> runNaively(const Schedule &schedule,
                                      const ScheduleProblem &problem) {
  if (!isComplete(schedule, problem.forwardOnly))
    return std::nullopt;
  return Runner(schedule, problem).run();
}

} // namespace stagewright::testing
