//===- Walk.cpp - orders of a stage, as paths of states -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Walk.h"
#include <algorithm>

namespace stagewright::bounds {

/// Later than any time, but small enough to be added to.
static constexpr double kNever = 1e300;

Walk::Walk(const StageCosts &costs, int64_t microbatches, double memory,
           double slack)
    : endBy(kNever), earliestEnd(-kNever),
      times{costs.forward.value, costs.inputGradient.value,
            costs.weightGradient.value},
      activation(costs.activation), kept(costs.kept),
      // If memory cannot hold one microbatch there is no schedule; bounds are
      // for problems that have one.
      memory(std::max(memory, costs.activation) * (1 + 1e-9)), slack(slack),
      microbatches(microbatches) {
  for (Times *windows : {&forward, &input}) {
    windows->start.assign(microbatches, -kNever);
    windows->end.assign(microbatches, kNever);
  }
  while (mostHeld < microbatches && holds({mostHeld + 1, 0, 0}))
    ++mostHeld;
  while (mostKept < microbatches && holds({mostKept + 1, mostKept + 1, 0}))
    ++mostKept;
}

bool Walk::holds(const State &s) const {
  return activation * double(s.f - s.i) + kept * double(s.i - s.w) <= memory;
}

/// Writes the steps that lead to `to`; returns their number.
int Walk::enter(const State &to, Step steps[3]) const {
  int number = 0;
  if (to.f > to.i)
    steps[number++] = {{to.f - 1, to.i, to.w},
                       forward.start[to.f - 1],
                       forward.end[to.f - 1],
                       times[0]};
  // While I runs, its activation is still in memory.
  if (to.i > to.w && holds({to.f, to.i - 1, to.w}))
    steps[number++] = {{to.f, to.i - 1, to.w},
                       input.start[to.i - 1],
                       input.end[to.i - 1],
                       times[1]};
  if (to.w > 0 && holds({to.f, to.i, to.w - 1}))
    steps[number++] = {{to.f, to.i, to.w - 1}, -kNever, endBy, times[2]};
  return number;
}

void Walk::goForward(std::vector<double> &earliest) const {
  earliest.assign(size_t(numStates()), kNever);
  earliest[0] = -kNever;
  Step steps[3];
  for (int64_t f = 0; f <= microbatches; ++f)
    for (int64_t i = std::max<int64_t>(0, f - mostHeld); i <= f; ++i)
      for (int64_t w = std::max<int64_t>(0, i - mostKept); w <= i; ++w) {
        State to{f, i, w};
        if (!holds(to))
          continue;
        double &time = earliest[indexOf(to)];
        for (int n = enter(to, steps); n-- > 0;) {
          double start =
              std::max(earliest[indexOf(steps[n].from)], steps[n].start);
          double end = start + steps[n].length;
          if (end <= steps[n].end + slack)
            time = std::min(time, end);
        }
      }
}

bool Walk::goBack(Scratch &scratch) {
  const std::vector<double> &earliest = scratch.earliest;
  std::vector<double> &latest = scratch.latest;
  latest.assign(earliest.size(), -kNever);
  latest[indexOf({microbatches, microbatches, microbatches})] = endBy;
  Times f{std::vector<double>(microbatches, kNever),
          std::vector<double>(microbatches, -kNever)};
  Times i = f;
  Step steps[3];
  for (int64_t a = microbatches; a >= 0; --a)
    for (int64_t b = a; b >= 0 && holds({a, b, b}); --b)
      for (int64_t c = b; c >= 0 && holds({a, b, c}); --c) {
        State to{a, b, c};
        double by = latest[indexOf(to)];
        if (by == -kNever || earliest[indexOf(to)] == kNever ||
            earliest[indexOf(to)] > by + slack)
          continue;
        for (int n = enter(to, steps); n-- > 0;) {
          const Step &step = steps[n];
          double reached = earliest[indexOf(step.from)];
          if (reached == kNever)
            continue;
          double end = std::min(by, step.end);
          double start = std::max(reached, step.start);
          if (start + step.length > end + slack)
            continue;
          double &leave = latest[indexOf(step.from)];
          leave = std::max(leave, end - step.length);
          bool isForward = step.from.f < a, isInput = step.from.i < b;
          if (!isForward && !isInput)
            continue;
          Times &used = isForward ? f : i;
          size_t which = size_t(isForward ? a : b) - 1;
          used.start[which] = std::min(used.start[which], start);
          used.end[which] = std::max(used.end[which], end);
        }
      }
  if (latest[0] == -kNever)
    return false;
  auto narrow = [&](Times &times, const Times &used) {
    for (size_t n = 0; n < used.start.size(); ++n) {
      times.start[n] = std::max(times.start[n], used.start[n]);
      times.end[n] = std::min(times.end[n], used.end[n]);
    }
  };
  narrow(forward, f);
  narrow(input, i);
  return true;
}

bool Walk::run(Scratch &scratch) {
  goForward(scratch.earliest);
  earliestEnd =
      scratch.earliest[indexOf({microbatches, microbatches, microbatches})];
  if (earliestEnd > endBy + slack)
    return false;
  return goBack(scratch);
}

} // namespace stagewright::bounds
