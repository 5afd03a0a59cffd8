//===- Generators.h - schedules by name -------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each generator is one function in a file of its own under
// lib/Scheduling/Generators, with its picture; this header is the list of them.
// A generator knows no times, but for the ratio of a hop to a stage that some
// choose their warm-up by. Symbols: p ranks, v chunks per rank, M microbatches.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_H

#include "stagewright/Scheduling/Placement.h"
#include "stagewright/Scheduling/Schedule.h"
#include <functional>
#include <span>

namespace stagewright {

/// What a generator is asked for.
struct ScheduleShape {
  int64_t ranks = 1;
  int64_t microbatches = 1;
  bool forwardOnly = false; ///< Inference: no backward actions.
  int64_t chunks = 1;       ///< Stages per rank.
  /// Microbatches that a chunk runs before the next chunk's turn (interleaved
  /// schedules); 0: the schedule's own choice.
  int64_t group = 0;
  /// Time of a hop over time of a forward: what latency-aware warm-ups go by.
  double hopRatio = 0;
};

/// All forwards, then all backwards, microbatches in increasing order (Huang et
/// al., GPipe, NeurIPS 2019). Holds M activations on every rank; bubble
/// (p - 1)(F + B) at equal stages.
Result<Schedule> generateGPipe(const ScheduleShape &shape);

/// One forward, one backward: rank r runs p - r forwards, then alternates (the
/// flush schedule of PipeDream-2BW and DAPPLE). Holds min(p - r, M) activations
/// on rank r; bubble (p - 1)(F + B) at equal stages.
Result<Schedule> generateOneFOneB(const ScheduleShape &shape);

/// 1F1B with 2 (p - r) - 1 warm-up forwards on rank r, so that transfers run
/// beside compute (P_B of DAPPLE, PPoPP 2021; Eager1F1B of JaxPP). Holds
/// min(2 (p - r) - 1, M) activations; bubble (p - 1)(F + B + 2c) for transfers
/// of 2c <= F + B at equal stages.
Result<Schedule> generateEarlyBackward(const ScheduleShape &shape);

/// What each stage runs in the window order of planners.md 1.5: max(1, 4 (p - 1
/// - r)) warm-up forwards on rank r, then one backward, one forward. Holds as
/// many activations, at most M; a step takes at most (M + 4p - 4) C, C the most
/// that a stage or a channel works for one microbatch, if the channels keep to
/// the windows too.
Result<Schedule> generateWindow(const ScheduleShape &shape);

/// One entry of the list of generators.
struct Generator {
  const char *name;   ///< As in `kind=`.
  const char *symbol; ///< Name of the schedule in IR.
  Placement placement;
  /// Chunks per rank it is defined for; `mostChunks` 0: any number from
  /// `leastChunks` on.
  int64_t leastChunks, mostChunks;
  /// Defined for every M >= 1; the others fail outside their domain.
  bool anyMicrobatches;
  bool splitsBackward; ///< Has I and W in place of B.
  const char *summary; ///< One line for `--help`.
  /// An error says which of the shape's numbers it is not defined for, and what
  /// would do.
  Result<Schedule> (*generate)(const ScheduleShape &shape);
};

/// All generators, in the order of the documentation.
std::span<const Generator> allGenerators();

/// The generator called `name`; the error lists those there are.
Result<Generator> findGenerator(std::string_view name);

/// A schedule as a function of the number of microbatches.
using ScheduleFamily = std::function<Schedule(int64_t microbatches)>;

/// `generator`, defined for every M, with everything but M fixed and one stage
/// per rank.
ScheduleFamily familyOf(const Generator &generator, int64_t ranks,
                        bool forwardOnly);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_H
