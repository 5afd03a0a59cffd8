//===- RingDepths.h - how many microbatches are in flight -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value that lives from one action to a later one is held in a ring of slots;
// microbatch m uses slot m mod depth. The depth is the max number of
// microbatches that are between the two actions at the same time. On one rank
// that number follows from the order. Between two ranks it depends on how far
// the sender runs ahead, so it is taken from a simulation with equal stages: no
// sender of a balanced pipeline then waits for a slot, and a skip connection
// over k stages gets the k + 1 slots that it fills. A channel may also work
// with fewer slots, only slower; verify() checks any choice of depths.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_RINGDEPTHS_H
#define STAGEWRIGHT_SIMULATION_RINGDEPTHS_H

#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/Timing.h"
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

/// The ring depths of a program for a family of schedules.
class RingDepths {
public:
  /// Simulates `graph` with unlimited depths. Fails if verify() fails.
  static Result<RingDepths> create(const ScheduleFamily &family,
                                   StageGraph graph);

  /// Slots of a value made (or first held) in `first` and last used in `last`,
  /// for every M >= 1. The two are on one rank (a stash) or on two (a channel,
  /// of depth >= 2 so that sender and receiver can work at the same time).
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
