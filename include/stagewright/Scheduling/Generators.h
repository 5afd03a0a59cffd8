//===- Generators.h - schedules by name -------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each generator is one function in a file of its own under
// lib/Scheduling/Generators, with its picture; this header is the list of them.
// A generator is a function of the number of microbatches, defined for every
// M >= 1: the lowering to loops compares what it makes for M and M + 1.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_H

#include "stagewright/Scheduling/Schedule.h"
#include <functional>
#include <span>

namespace stagewright {

/// What a generator is asked for: stage s runs on rank s.
struct ScheduleShape {
  int64_t stages = 1;
  int64_t microbatches = 1;
  bool forwardOnly = false; ///< Inference: no backward actions.
};

/// All forwards, then all backwards, microbatches in increasing order (Huang et
/// al., GPipe, NeurIPS 2019). Holds M activations on every rank; bubble
/// (p - 1)(F + B) at equal stages.
Schedule generateGPipe(const ScheduleShape &shape);

/// One forward, one backward: rank r runs p - r forwards, then alternates (the
/// flush schedule of PipeDream-2BW and DAPPLE). Holds min(p - r, M) activations
/// on rank r; bubble (p - 1)(F + B) at equal stages.
Schedule generateOneFOneB(const ScheduleShape &shape);

/// 1F1B with 2 (p - r) - 1 warm-up forwards on rank r, so that transfers run
/// beside compute (P_B of DAPPLE, PPoPP 2021; Eager1F1B of JaxPP). Holds
/// min(2 (p - r) - 1, M) activations; bubble (p - 1)(F + B + 2c) for transfers
/// of 2c <= F + B at equal stages.
Schedule generateEarlyBackward(const ScheduleShape &shape);

/// What each stage runs in the window order of planners.md 1.5: max(1, 4 (p - 1
/// - r)) warm-up forwards on rank r, then one backward, one forward. Holds as
/// many activations, at most M; a step takes at most (M + 4p - 4) C, C the most
/// that a stage or a channel works for one microbatch, if the channels keep to
/// the windows too.
Schedule generateWindow(const ScheduleShape &shape);

/// One entry of the list of generators.
struct Generator {
  const char *name;   ///< As in `kind=`.
  const char *symbol; ///< Name of the schedule in IR.
  Schedule (*generate)(const ScheduleShape &shape);
};

/// All generators, in the order of the documentation.
std::span<const Generator> allGenerators();

/// The generator called `name`; the error lists those there are.
Result<Generator> findGenerator(std::string_view name);

/// A schedule as a function of the number of microbatches.
using ScheduleFamily = std::function<Schedule(int64_t microbatches)>;

/// `generator` with everything but the number of microbatches fixed.
ScheduleFamily familyOf(const Generator &generator, int64_t stages,
                        bool forwardOnly);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_H
