//===- Memory.h - memory held by a schedule ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory model of ScheduleProblem.h, applied to orders. A rank's memory
// follows from its own order, without times or other ranks. A pair takes the
// memory of both actions before it frees any.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_MEMORY_H
#define STAGEWRIGHT_SCHEDULING_MEMORY_H

#include "stagewright/Scheduling/Schedule.h"
#include "stagewright/Scheduling/ScheduleProblem.h"

namespace stagewright {

/// The memory that an action takes at its start and frees at its end, in the
/// unit of the problem.
struct MemoryChange {
  double taken = 0, freed = 0;
};

/// The change by `action` on a stage with `costs`; `recomputed`: the microbatch
/// has an action R on this stage.
MemoryChange memoryChange(const Action &action, const StageCosts &costs,
                          bool recomputed, bool forwardOnly);

/// The peak memory of a rank, and where it is first reached.
struct MemoryPeak {
  double value = 0;
  size_t step = 0; ///< Of the action that reaches it.
};

/// The peak of every rank of `schedule`, whose stages are those of `problem`.
/// Linear in the actions.
std::vector<MemoryPeak> memoryPeaks(const Schedule &schedule,
                                    const ScheduleProblem &problem);

/// Fails if a rank holds more than `problem.memory` (by more than one part in
/// 10^9, as sums of many terms are not exact). The error names the rank, the
/// first action that exceeds the limit, by how much, and the limit that
/// suffices.
Status verifyMemory(const Schedule &schedule, const ScheduleProblem &problem);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_MEMORY_H
