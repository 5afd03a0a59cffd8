//===- Windows.h - bounds from the work of one rank -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A window is the interval that a bound is for: from the first start anywhere
// to the last end anywhere (makespan), or from the first start of a rank to its
// last end (span). Both begin with a forward of some stage: stage 0, or the
// lowest stage of the rank, which a microbatch reaches first; and both end no
// earlier than the last W of that stage. All else is the same for both.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_WINDOWS_H
#define STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_WINDOWS_H

#include "Chain.h"
#include "stagewright/Scheduling/LowerBounds.h"

namespace stagewright::bounds {

struct Window {
  int64_t from = 0; ///< The stage that it begins and ends with.
  int64_t rank = 0; ///< Whose span it is.
  bool makespan = false;
  /// Every rank starts as soon as the first microbatch reaches it, as in
  /// timeSchedule(): its first start is known. For spans of all ranks at once.
  bool eager = false;

  /// Whether the W of rank `machine` have to end within the window.
  bool holdsWeights(int64_t machine) const {
    return makespan || machine == rank;
  }
};

/// Raises `bound` to what rank `machine` implies for `window`
/// (docs/schedule-bounds.md): its work after a head and before a tail.
void raiseByHeadsAndTails(const Chain &chain, const Window &window,
                          int64_t machine, LowerBound &bound);

/// Likewise from all its work, some of which cannot be in a pair.
void raiseByWorkAlone(const Chain &chain, const Window &window, int64_t machine,
                      LowerBound &bound);

/// Likewise from what it cannot do before its first I and after its last F.
void raiseByFillAndDrain(const Chain &chain, const Window &window,
                         int64_t machine, LowerBound &bound);

/// Likewise from the time for which activations occupy memory: the sum of
/// memory times time, divided by the memory of the rank.
void raiseByMemory(const Chain &chain, const Window &window, int64_t machine,
                   LowerBound &bound);

} // namespace stagewright::bounds

#endif // STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_WINDOWS_H
