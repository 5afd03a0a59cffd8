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
    : chain(chain), window(window), value(value), slack(2e-12 * value),
      stale(chain.problem.ranks, true) {
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

/// Raises `times` to at least `by` + `delay`; returns whether any changed.
static bool raise(std::vector<double> &times, const std::vector<double> &by,
                  double delay, double slack) {
  bool moved = false;
  for (size_t n = 0; n < times.size(); ++n)
    if (by[n] + delay > times[n] + slack) {
      times[n] = by[n] + delay;
      moved = true;
    }
  return moved;
}

/// Lowers `times` to at most `by` - `delay`; returns whether any changed.
static bool lower(std::vector<double> &times, const std::vector<double> &by,
                  double delay, double slack) {
  bool moved = false;
  for (size_t n = 0; n < times.size(); ++n)
    if (by[n] - delay < times[n] - slack) {
      times[n] = by[n] - delay;
      moved = true;
    }
  return moved;
}

bool Counting::narrowOne(int64_t rank) {
  Walk &own = walks[rank];
  double f = chain.forwardTime(rank), i = chain.inputTime(rank);
  bool later =
      raise(own.input.start, own.forward.start, f + chain.turn(rank), slack);
  bool sooner =
      lower(own.forward.end, own.input.end, i + chain.turn(rank), slack);
  // For spans: every rank ends at most `value` after its own first start.
  double end = window.makespan ? value : own.forward.end[0] - f + value;
  if (end < own.endBy - slack) {
    own.endBy = end;
    sooner = true;
  }
  if (!later && !sooner && !stale[rank])
    return true;
  walked += own.numStates();
  if (!own.run(scratch))
    return false;
  stale[rank] = false;
  // The windows that this walk itself has narrowed do not make it stale; only a
  // later first start does.
  if (!window.makespan &&
      own.earliestEnd - value > own.forward.start[0] + slack) {
    own.forward.start[0] = own.earliestEnd - value;
    stale[rank] = true;
  }
  return true;
}

void Counting::passDown(int64_t rank) {
  const Walk &above = walks[rank - 1];
  double hop = chain.problem.hops[rank - 1].value;
  bool later = raise(walks[rank].forward.start, above.forward.start,
                     chain.forwardTime(rank - 1) + hop, slack);
  bool sooner = lower(walks[rank].input.end, above.input.end,
                      chain.inputTime(rank - 1) + hop, slack);
  stale[rank] = stale[rank] || later || sooner;
}

void Counting::passUp(int64_t rank) {
  const Walk &below = walks[rank + 1];
  double hop = chain.problem.hops[rank].value;
  bool later = raise(walks[rank].input.start, below.input.start,
                     chain.inputTime(rank + 1) + hop, slack);
  bool sooner = lower(walks[rank].forward.end, below.forward.end,
                      chain.forwardTime(rank + 1) + hop, slack);
  stale[rank] = stale[rank] || later || sooner;
}

bool Counting::narrow(int rounds) {
  int64_t last = chain.problem.ranks - 1;
  for (int round = 0; round < rounds; ++round) {
    double before = walked;
    for (int64_t rank = 0; rank <= last; ++rank) {
      if (rank > 0)
        passDown(rank);
      if (!narrowOne(rank))
        return false;
    }
    for (int64_t rank = last; rank >= 0; --rank) {
      if (rank < last)
        passUp(rank);
      if (!narrowOne(rank))
        return false;
    }
    if (walked == before)
      return true;
  }
  return true;
}

void Counting::timesOf(int64_t rank, Walk::Scratch &times) {
  walks[rank].run(times);
}

static constexpr int kRounds = 12;

/// Steps of walks in one attempt to refute a value, if each rank is walked once
/// per round.
static double stepsOfOne(const Chain &chain) {
  double states = 0;
  for (const StageCosts &stage : chain.problem.stages)
    states += Walk(stage, chain.problem.microbatches, chain.problem.memory, 0)
                  .numStates();
  return states * kRounds;
}

double refuteByCounting(const Chain &chain, const Window &window, double from,
                        double &effort) {
  auto refuted = [&](double value) {
    Counting counting(chain, window, value);
    bool stands = counting.narrow(kRounds);
    effort -= counting.steps();
    return !stands;
  };
  if (effort < stepsOfOne(chain) || from <= 0 || !refuted(from * (1 + 1e-9)))
    return from;
  // Doubles the step until a value is not refuted, then bisects.
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
