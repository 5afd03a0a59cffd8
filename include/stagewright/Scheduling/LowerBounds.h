//===- LowerBounds.h - no schedule is faster --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every schedule of a problem's placement needs at least, whatever its
// order. schedules.md 2.1 gives the bound for equal stages on a chain; here it
// is derived for unequal stages and several chunks (lib/Scheduling/Bounds,
// proofs in docs/schedule-bounds.md). Values are sums of doubles: a schedule
// that meets one may lie below it by rounding, about 1e-12 of its value.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_LOWERBOUNDS_H
#define STAGEWRIGHT_SCHEDULING_LOWERBOUNDS_H

#include "stagewright/Scheduling/Timing.h"
#include <string>

namespace stagewright {

struct LowerBound {
  Seconds value;
  /// What sets it: "work", "heads and tails", "fill and drain", "another rank"
  /// (on the way through it), "memory", "ranks together" (counting).
  std::string reason;
  int64_t rank = 0; ///< Where.
};

struct LowerBounds {
  LowerBound makespan, span;
};

/// Bounds for any order with I and W apart (B is one such order). `problem`
/// must pass check(). No forward is run again. Where `overlap` is set, pairs
/// may shorten the work and the bound says less.
LowerBounds lowerBounds(const ScheduleProblem &problem);

/// The same where every backward is one action B.
LowerBounds lowerBoundsWithoutSplit(const ScheduleProblem &problem);

/// The same where forwards may be run again, which holds less memory.
LowerBounds lowerBoundsWithRecompute(const ScheduleProblem &problem);

/// Bounds for all orders that take no more memory than `problem` has or than
/// `schedule` takes by its `timing`, so that they hold for it too: of orders
/// that fit, where it fits. Forwards may be run again where it does so. A bound
/// above what `schedule` takes is an error of ours, and told as one.
Result<LowerBounds> lowerBoundsOf(const Schedule &schedule,
                                  const ScheduleTiming &timing,
                                  ScheduleProblem problem);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_LOWERBOUNDS_H
