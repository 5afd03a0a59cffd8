//===- SimulateReady.h - simulated ready-first execution ------ -*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times of the actions of a schedule if ranks run them as they become ready
// (Scheduling/ReadyFirst.h) instead of in the order of the schedule. Depths of
// edges are the credits: the producer of microbatch m waits for the slot of
// microbatch m - depth. Transfers are delays, as in Timing.h; a freed slot is
// known to the producer at once.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_SIMULATEREADY_H
#define STAGEWRIGHT_SIMULATION_SIMULATEREADY_H

#include "stagewright/Scheduling/Timing.h"

namespace stagewright {

/// A simulated step, and the orders in which its ranks ran.
struct ReadyRun {
  Timeline timeline;
  Schedule orders;
};

/// Simulates the actions of `schedule`, except updates. Fails if they are
/// incomplete or deadlock. O(n L) for n actions and L lanes of all ranks.
Result<ReadyRun> simulateReady(const Schedule &schedule,
                               const StageGraph &graph, const StepTimes &times);

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_SIMULATEREADY_H
