//===- Windows.cpp - bounds from the work of one rank ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Windows.h"
#include "Pending.h"
#include <algorithm>

namespace stagewright::bounds {

static void raise(LowerBound &bound, double value, const char *reason,
                  int64_t rank) {
  if (value > bound.value.value)
    bound = {Seconds(value), reason, rank};
}

namespace {
/// Actions of a kind: none starts before `head`, each is followed by `tail`.
struct Jobs {
  double head, tail, work;
};
} // namespace

/// Forwards only: a window ends no earlier than the last F of its highest
/// stage.
static std::vector<Jobs> forwardJobs(const Chain &chain, const Window &window,
                                     int64_t machine) {
  int64_t to = window.makespan ? chain.last() : chain.highest(window.rank);
  std::vector<Jobs> jobs;
  for (int64_t s : chain.stages[machine]) {
    double f = chain.forwardTime(s);
    if (window.from <= s && s <= to)
      jobs.push_back({chain.forward(window.from, s),
                      chain.forward(s, to) + chain.forwardTime(to) - f,
                      double(chain.problem.microbatches) * f});
  }
  return jobs;
}

static std::vector<Jobs> allJobs(const Chain &chain, const Window &window,
                                 int64_t machine) {
  double times = double(chain.problem.microbatches);
  int64_t from = window.from;
  double end = chain.weightTime(from);
  std::vector<Jobs> jobs;
  for (int64_t s : chain.stages[machine]) {
    if (s < from)
      continue;
    double around = chain.around(from, s), back = chain.backward(s, from) + end;
    double f = chain.forwardTime(s), i = chain.inputTime(s),
           w = chain.weightTime(s);
    jobs.push_back(
        {chain.forward(from, s), chain.turn(s) + i + back, times * f});
    jobs.push_back({around, back, times * i});
    if (window.holdsWeights(machine))
      jobs.push_back({around + i, 0, times * w});
  }
  return jobs;
}

void raiseByHeadsAndTails(const Chain &chain, const Window &window,
                          int64_t machine, LowerBound &bound) {
  std::vector<Jobs> jobs = chain.problem.forwardOnly
                               ? forwardJobs(chain, window, machine)
                               : allJobs(chain, window, machine);
  for (const Jobs &head : jobs)
    for (const Jobs &tail : jobs) {
      double work = 0;
      for (const Jobs &job : jobs)
        if (job.head >= head.head && job.tail >= tail.tail)
          work += job.work;
      if (work > 0)
        raise(bound, head.head + work + tail.tail,
              head.head + tail.tail > 0 ? "heads and tails" : "work", machine);
    }
}

void raiseByWorkAlone(const Chain &chain, const Window &window, int64_t machine,
                      LowerBound &bound) {
  int64_t low = chain.lowest(machine);
  if (!window.holdsWeights(machine) || low < window.from)
    return;
  raise(bound,
        chain.forward(window.from, low) +
            chain.work(machine) * double(chain.problem.microbatches) +
            chain.alonePremium(machine),
        "work", machine);
}

void raiseByFillAndDrain(const Chain &chain, const Window &window,
                         int64_t machine, LowerBound &bound) {
  int64_t low = chain.lowest(machine), high = chain.highest(machine);
  if (low < window.from)
    return;
  bool weights = window.holdsWeights(machine);
  double end = chain.weightTime(window.from);
  double head = chain.forward(window.from, low);
  double tail = weights ? 0 : chain.backward(low, window.from) + end;
  double toFirstInput = chain.around(low, high);
  double fromLastForward = chain.turn(high) + chain.inputTime(high) +
                           chain.backward(high, window.from) + end;
  double forwards = 0, rest = 0;
  for (int64_t s : chain.stages[machine]) {
    forwards += chain.forwardTime(s);
    rest += chain.inputTime(s) + (weights ? chain.weightTime(s) : 0);
  }
  int64_t actions =
      chain.problem.microbatches * int64_t(chain.stages[machine].size());
  forwards *= double(chain.problem.microbatches);
  rest *= double(chain.problem.microbatches);

  // If an I runs before the last F: at most all but one F precede the first I,
  // all but one I follow the last F, and the two idle times are disjoint.
  auto idle = [&](double before, double behind) {
    return std::pair(std::max(0., toFirstInput - before),
                     std::max(tail, fromLastForward - behind));
  };
  auto [fill, drain] =
      idle(forwardsThatFit(chain, machine, actions - 1),
           backwardsThatFit(chain, machine, actions - 1, weights));
  double extra = fill + drain;
  // Or every F precedes every I, if memory can hold all activations.
  double room = 0;
  for (int64_t s : chain.stages[machine])
    room += chain.problem.stages[s].activation;
  room *= double(chain.problem.microbatches);
  if (room <= chain.problem.memory * (1 + 1e-9)) {
    auto [gap, late] = idle(forwards, rest);
    extra = std::min(extra, std::max(gap + tail, late));
  }
  raise(bound, head + forwards + rest + extra,
        weights ? "fill and drain" : "another rank", machine);
}

void raiseByMemory(const Chain &chain, const Window &window, int64_t machine,
                   LowerBound &bound) {
  if (!window.holdsWeights(machine) || chain.lowest(machine) < window.from)
    return;
  double area = 0;
  for (int64_t s : chain.stages[machine]) {
    const StageCosts &stage = chain.problem.stages[s];
    area += stage.activation *
                (chain.forwardTime(s) + chain.turn(s) + chain.inputTime(s)) +
            stage.kept * chain.weightTime(s);
  }
  area *= double(chain.problem.microbatches);
  if (chain.problem.memory > 0)
    raise(bound,
          chain.forward(window.from, chain.lowest(machine)) +
              area / chain.problem.memory,
          "memory", machine);
}

} // namespace stagewright::bounds
