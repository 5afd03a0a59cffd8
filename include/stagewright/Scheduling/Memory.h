//===- Memory.h - what a schedule holds -------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory model of ScheduleProblem.h, applied to orders. A rank's memory
// follows from its own order: no times are needed, and no other rank. A pair
// takes what both take before it gives anything back.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_MEMORY_H
#define STAGEWRIGHT_SCHEDULING_MEMORY_H

#include "stagewright/Scheduling/Schedule.h"
#include "stagewright/Scheduling/ScheduleProblem.h"

namespace stagewright {

/// What an action takes as it starts and gives back as it ends, in the unit of
/// the problem.
struct MemoryChange {
  double taken = 0, freed = 0;
};

/// The change by `action` of a stage of `costs`; `recomputed`: its microbatch
/// has an action R.
MemoryChange memoryChange(const Action &action, const StageCosts &costs,
                          bool recomputed, bool forwardOnly);

/// Where a rank holds most, the first time it does.
struct MemoryPeak {
  double value = 0;
  size_t step = 0; ///< Of the action that takes it there.
};

/// The peak of every rank of `schedule`, whose stages are those of `problem`.
/// Linear in the actions.
std::vector<MemoryPeak> memoryPeaks(const Schedule &schedule,
                                    const ScheduleProblem &problem);

/// Fails where a rank holds more than `problem.memory` (by more than one part
/// in 10^9: sums of many terms are not exact). The error names the rank, the
/// action with which it does so first, by how much, and the limit that would
/// do.
Status verifyMemory(const Schedule &schedule, const ScheduleProblem &problem);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_MEMORY_H
