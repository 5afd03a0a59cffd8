//===- Counting.cpp - refuting a value by counting actions ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Counting.h"
#include <algorithm>
#include <cmath>

namespace stagewright::bounds {

Counting::Counting(const Chain &chain, const Window &window, double value)
    : chain(chain), window(window), value(value), slack(2e-12 * value) {
  for (int64_t rank = 0; rank < chain.problem.ranks; ++rank)
    walks.emplace_back(chain.problem.stages[rank], chain.problem.microbatches,
                       chain.problem.memory, slack);
  for (int64_t rank = 0; window.eager && rank < chain.problem.ranks; ++rank) {
    walks[rank].forward.start[0] = chain.forward(0, rank);
    walks[rank].forward.end[0] =
        chain.forward(0, rank) + chain.forwardTime(rank);
  }
  // Time 0 is the first start of the window.
  Walk &first = walks[window.from];
  first.forward.start[0] = 0;
  if (!window.makespan)
    first.forward.end[0] = chain.forwardTime(window.from);
}

static bool raise(std::vector<double> &times, const std::vector<double> &by,
                  double delay, double slack) {
  bool changed = false;
  for (size_t n = 0; n < times.size(); ++n)
    if (by[n] + delay > times[n] + slack) {
      times[n] = by[n] + delay;
      changed = true;
    }
  return changed;
}

static bool lower(std::vector<double> &times, const std::vector<double> &by,
                  double delay, double slack) {
  bool changed = false;
  for (size_t n = 0; n < times.size(); ++n)
    if (by[n] - delay < times[n] - slack) {
      times[n] = by[n] - delay;
      changed = true;
    }
  return changed;
}

bool Counting::narrowOne(int64_t rank) {
  Walk &own = walks[rank];
  double f = chain.forwardTime(rank), i = chain.inputTime(rank);
  changed |=
      raise(own.input.start, own.forward.start, f + chain.turn(rank), slack);
  changed |= lower(own.forward.end, own.input.end, i + chain.turn(rank), slack);
  // Every rank ends within the value of its own first start.
  double end = window.makespan ? value : own.forward.end[0] - f + value;
  own.endBy = std::min(own.endBy, end);
  walked += own.numStates();
  if (!own.run(scratch, changed))
    return false;
  if (!window.makespan &&
      own.earliestEnd - value > own.forward.start[0] + slack) {
    own.forward.start[0] = own.earliestEnd - value;
    changed = true;
  }
  return true;
}

bool Counting::passDown(int64_t rank) {
  if (rank > 0) {
    const Walk &above = walks[rank - 1];
    double hop = chain.problem.hops[rank - 1].value;
    changed |= raise(walks[rank].forward.start, above.forward.start,
                     chain.forwardTime(rank - 1) + hop, slack);
    changed |= lower(walks[rank].input.end, above.input.end,
                     chain.inputTime(rank - 1) + hop, slack);
  }
  return narrowOne(rank);
}

bool Counting::passUp(int64_t rank) {
  if (rank + 1 < chain.problem.ranks) {
    const Walk &below = walks[rank + 1];
    double hop = chain.problem.hops[rank].value;
    changed |= raise(walks[rank].input.start, below.input.start,
                     chain.inputTime(rank + 1) + hop, slack);
    changed |= lower(walks[rank].forward.end, below.forward.end,
                     chain.forwardTime(rank + 1) + hop, slack);
  }
  return narrowOne(rank);
}

bool Counting::narrow(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    changed = false;
    for (int64_t rank = 0; rank < chain.problem.ranks; ++rank)
      if (!passDown(rank))
        return false;
    for (int64_t rank = chain.problem.ranks; rank-- > 0;)
      if (!passUp(rank))
        return false;
    if (!changed)
      return true;
  }
  return true;
}

void Counting::timesOf(int64_t rank, Walk::Scratch &times) {
  bool ignored = false;
  walks[rank].run(times, ignored);
}

static constexpr int kRounds = 12;
/// A few seconds, and some ten megabytes.
static constexpr double kMostSteps = 2e8;

/// Steps of walks in one attempt at a value.
static double stepsOfOne(const Chain &chain) {
  double states = 0;
  for (const StageCosts &stage : chain.problem.stages)
    states += Walk(stage, chain.problem.microbatches, chain.problem.memory, 0)
                  .numStates();
  return states * kRounds;
}

bool refutesByCounting(const Chain &chain, const Window &window, double value) {
  return value > 0 && stepsOfOne(chain) <= kMostSteps &&
         !Counting(chain, window, value).narrow(kRounds);
}

double refuteByCounting(const Chain &chain, const Window &window, double from,
                        double effort) {
  auto refuted = [&](double value) {
    Counting counting(chain, window, value);
    bool stands = counting.narrow(kRounds);
    effort -= counting.steps();
    return !stands;
  };
  if (effort < stepsOfOne(chain) || from <= 0 || !refuted(from * (1 + 1e-9)))
    return from;
  // Double the step until a value stands, then halve between.
  double low = from, step = from * 0.005;
  while (effort > 0 && refuted(low + step)) {
    low += step;
    step *= 2;
  }
  double high = low + step;
  while (effort > 0 && high - low > 1e-12 * low) {
    double middle = (low + high) / 2;
    (refuted(middle) ? low : high) = middle;
  }
  return low;
}

} // namespace stagewright::bounds
