//===- LowerBounds.h - lower bounds for all schedules -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lower bounds for the time of every schedule of a problem's placement, in any
// order, for equal and unequal stages and several chunks
// (lib/Scheduling/Bounds, proofs in docs/schedule-bounds.md). Values are sums
// of doubles: a schedule that meets a bound may be below it by rounding, about
// 1e-12 of its value.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_LOWERBOUNDS_H
#define STAGEWRIGHT_SCHEDULING_LOWERBOUNDS_H

#include "stagewright/Scheduling/Timing.h"
#include <string>

namespace stagewright {

struct LowerBound {
  Seconds value;
  /// The limiting argument: "work", "heads and tails", "fill and drain",
  /// "another rank" (paths through it), "memory", "ranks together" (counting).
  std::string reason;
  int64_t rank = 0; ///< The rank to which it applies.
};

struct LowerBounds {
  LowerBound makespan, span;
};

/// Bounds for any order with I and W apart (B is a special case), without
/// recomputed forwards. `problem` must pass check(). If `overlap` is set, pairs
/// may shorten the work and the bound is weaker.
LowerBounds lowerBounds(const ScheduleProblem &problem);

/// The same if every backward is one action B.
LowerBounds lowerBoundsWithoutSplit(const ScheduleProblem &problem);

/// The same if forwards may be recomputed, which takes less memory.
LowerBounds lowerBoundsWithRecompute(const ScheduleProblem &problem);

/// Bounds for all orders within the memory of `problem`, or within the peak
/// memory of `timing`, the times of `schedule`, if that is more, so that the
/// bounds hold for `schedule` too. Forwards may be recomputed if `schedule`
/// does so. A bound above the time of `schedule` is reported as an internal
/// error.
Result<LowerBounds> lowerBoundsOf(const Schedule &schedule,
                                  const Timeline &timing,
                                  ScheduleProblem problem);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_LOWERBOUNDS_H
