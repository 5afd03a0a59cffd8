//===- RingDepths.h - how many microbatches are in flight -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value that lives from one action to a later one needs as many slots as
// microbatches are between the two at once; slot m mod depth is then free again
// when microbatch m wants it. On one rank that number follows from the order.
// Between two ranks it depends on how far the sender runs ahead, so it is taken
// from the simulated schedule with equal stages: with that many slots no sender
// of an even pipeline waits for a slot, and a skip connection over k stages
// gets the k + 1 slots that it fills. Fewer slots would be safe too, only
// slower; verify() proves either.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_RINGDEPTHS_H
#define STAGEWRIGHT_SIMULATION_RINGDEPTHS_H

#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Simulation/Simulate.h"
#include <map>

namespace stagewright {

/// Slots of a ring as a function of the number of microbatches M.
struct RingDepth {
  int64_t slots = 1; ///< min(slots, M) unless `all`.
  bool all = false;  ///< A slot for each of the M microbatches.

  int64_t at(int64_t microbatches) const {
    return all ? microbatches : std::min(slots, microbatches);
  }
  friend bool operator==(const RingDepth &, const RingDepth &) = default;
};

/// Depths of the rings of a program under a family of schedules.
class RingDepths {
public:
  /// `graph` is simulated without its depths. Fails where verify() fails.
  static Result<RingDepths> create(const ScheduleFamily &family,
                                   StageGraph graph);

  /// Slots of a value made (or first held) in `first` and last used in `last`,
  /// for every M >= 1. Both may lie on one rank (a stash) or on two (a channel,
  /// whose depth is at least 2 so that sender and receiver can work at once).
  RingDepth between(StagePhase first, StagePhase last);

private:
  int64_t inFlight(const Timeline &timeline, StagePhase first,
                   StagePhase last) const;

  std::vector<Timeline> small; ///< For M = 1, 2, …
  Timeline large, larger;      ///< For a large M and for M + 1.
  std::map<int64_t, size_t> rankOf;
  std::map<std::pair<StagePhase, StagePhase>, RingDepth> known;
};

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_RINGDEPTHS_H
