//===- OrderDepths.h - depths of rings for one order ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RingDepths.h finds depths for every number of microbatches. This file finds
// the smallest ring for one given schedule: the least depth at which no two
// microbatches held at once have the same slot, m mod depth, or m / s mod depth
// if only every s-th is run. On one rank, the microbatches held at once follow
// from the order; between two ranks, from simulated times in which all ranks
// have equal work. That simulated run fits into the rings, so the schedule
// finishes with them.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_ORDERDEPTHS_H
#define STAGEWRIGHT_SIMULATION_ORDERDEPTHS_H

#include "stagewright/Scheduling/Timing.h"
#include <map>

namespace stagewright {

/// Depths of the rings of a program under one schedule.
class OrderDepths {
public:
  /// `graph` is simulated without its depths. Fails if verify() fails.
  static Result<OrderDepths> create(const Schedule &schedule, StageGraph graph);

  /// Slots of a value made (or first held) in `first` and last used in `last`,
  /// for `microbatches` only: some of the numbers i + k * `stride`, for one
  /// i < `stride`. The schedule must run both phases of all of them. Between
  /// two ranks at least 2, so that sender and receiver can work at the same
  /// time, but never more than one for each of the numbers i + k * `stride`
  /// from the lowest to the highest microbatch. O(n (d + log n)) for depth d
  /// and n microbatches.
  int64_t between(StagePhase first, StagePhase last,
                  const std::vector<int64_t> &microbatches,
                  int64_t stride = 1) const;

private:
  /// The place of an action: in the order of its rank, and in time.
  struct Place {
    int64_t rank = 0;
    Seconds position; ///< Number in the order of the rank; not a time.
    Seconds start, end;
  };
  /// By phase, then microbatch.
  std::map<StagePhase, std::vector<Place>> places;
};

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_ORDERDEPTHS_H
