//===- VPattern.h - plans from a periodic pattern ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pattern gives every lane an offset in a period T, the work of the busiest
// rank for one microbatch: action (lane, j) is due at offset + j T. With V
// placement, two chunks, hops of c, and T/2 from stage to stage, every rank has
// the same word, F0 F1 I1 I0 W W; it needs memory for p activations, and every
// input arrives T/2 - F - c before it is needed. ZB-V's word F0 I0 W0 F1 I1 W1
// needs the same memory and is 2c longer in every period.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VPATTERN_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VPATTERN_H

#include "Search/Chunks/VWalk.h"
#include <optional>

namespace stagewright::search {

/// Offsets of a pattern, in periods.
struct PatternSettings {
  double lagForward = 0.5;  ///< From a stage's F to the F on the next rank.
  double lagBackward = 0.5; ///< The same for I.
  double turn = 0;          ///< Extra delay from the last F to the first I.
  double delayWeight = 0;   ///< From I to W.
  /// From one microbatch to the next; more than 1 if memory is too small for
  /// the number of microbatches that would keep all ranks busy.
  double stretch = 1;
};

/// The plan of a pattern; none if it does not fit the memory.
std::optional<WalkPlan> layOutPattern(const FastProblem &problem,
                                      const PatternSettings &settings);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_VPATTERN_H
