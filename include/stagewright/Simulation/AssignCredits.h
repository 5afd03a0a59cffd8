//===- AssignCredits.h - credits from times and memory ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many microbatches may be in flight on a stage, from its forward to the
// end of its backward. By Little's law a stage is never idle for lack of
// credits if it has as many as microbatches pass through it in the time of one
// round trip: from the start of its forward through all later stages and back
// to the end of its backward. Without transfers S equal stages get S - s, the
// limit of 1F1B; every hop of c seconds adds 2 c / period.
//
// These numbers are enough for one stage per rank if twice a hop is a multiple
// of the period. Otherwise microbatches return at another point of the period
// than that at which they left, or wait for other stages of a rank, and greedy
// ranks lose some time. So all stages get n more credits, with the smallest n
// up to 8 with which a simulated step is at most 1 % slower than without
// limits.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_ASSIGNCREDITS_H
#define STAGEWRIGHT_SIMULATION_ASSIGNCREDITS_H

#include "stagewright/Simulation/SimulateReady.h"
#include <optional>

namespace stagewright {

/// The slots for a value on each rank of the stage that uses it last. Without
/// an order of the actions no two values share a place.
struct CreditRing {
  StagePhase made, last;
  double size = 0; ///< Of each of its slotsOf() the credits (ReadyFirst.h).
  /// Whether only microbatches have it that run the forward of the last stage
  /// again, or only the others; none: all have it.
  std::optional<bool> recomputes = {};
};

/// What microbatches in flight take on the ranks.
struct CreditMemory {
  std::vector<CreditRing> rings;
  std::vector<double> limits = {}; ///< By stage: of its ranks; empty: none.
  bool inBytes = false;            ///< Otherwise in any unit.
};

struct Credits {
  std::vector<int64_t> wanted;   ///< By stage: without a limit of memory.
  std::vector<int64_t> assigned; ///< By stage: within the limit.
  Seconds unlimited; ///< Simulated makespan if nothing waits for credit.
  Seconds makespan;  ///< The same with the assigned credits.

  bool isCapped() const { return assigned != wanted; }
  /// The part of `unlimited` by which the assigned credits make a step longer.
  double loss() const {
    return unlimited.value > 0 ? makespan.value / unlimited.value - 1 : 0;
  }
};

/// Credits for the actions of `schedule`: for each stage, as many as a step
/// needs if its actions take exactly the given times, and `spare` more. If
/// memory is short on a rank, its stage with the most credits loses one,
/// repeatedly, until the rest fits. If the rank's stages with rings have one
/// credit each, stages that send to these rings lose some of theirs. Fails if
/// one credit for all of these does not fit, or if simulateReady() does. Memory
/// costs O(credits * rings of a stage).
Result<Credits> assignCredits(const Schedule &schedule, const StageGraph &graph,
                              const StepTimes &times,
                              const CreditMemory &memory, int64_t spare = 0);

/// The simulated makespan of `schedule` with `credits`.
Result<Seconds> makespanWith(const Schedule &schedule, const StageGraph &graph,
                             StepTimes times,
                             const std::vector<int64_t> &credits);

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_ASSIGNCREDITS_H
