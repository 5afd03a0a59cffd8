//===- OrderDepths.h - slots of rings for one order -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RingDepths.h asks what every number of microbatches needs; here one schedule
// is given, however it was made, and the smallest ring for it is found: the
// lowest depth at which no two microbatches that are held at once fall into one
// slot, m mod depth, or m / s mod depth where every s-th is run. On one rank
// what is held at once follows from the order. Between two ranks it follows
// from the simulated times with equal ranks. That run needs no more slots than
// there are, so the schedule finishes with them.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_ORDERDEPTHS_H
#define STAGEWRIGHT_SIMULATION_ORDERDEPTHS_H

#include "stagewright/Simulation/Simulate.h"
#include <map>

namespace stagewright {

/// Depths of the rings of a program under one schedule.
class OrderDepths {
public:
  /// `graph` is simulated without its depths. Fails where verify() fails.
  static Result<OrderDepths> create(const Schedule &schedule, StageGraph graph);

  /// Slots of a value made (or first held) in `first` and last used in `last`,
  /// for `microbatches` alone, which come every `stride` from a lower number
  /// than that; the schedule runs both phases of all of them.
  /// Between two ranks at least 2, so that sender and receiver can work at
  /// once, but never more than from the lowest to the highest. O(d n log n) for
  /// depth d and n microbatches.
  int64_t between(StagePhase first, StagePhase last,
                  const std::vector<int64_t> &microbatches,
                  int64_t stride = 1) const;

private:
  /// Where an action stands: on its rank, and in time.
  struct Place {
    int64_t rank = 0;
    Seconds position; ///< Place in the order of the rank, as a number.
    Seconds start, end;
  };
  /// By phase, then microbatch.
  std::map<StagePhase, std::vector<Place>> places;
};

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_ORDERDEPTHS_H
