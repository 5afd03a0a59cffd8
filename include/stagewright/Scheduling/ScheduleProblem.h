//===- ScheduleProblem.h - the scheduling problem ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times and memory of every stage, the delay of every hop, and the memory of a
// rank, without a model: the input to time, bound and search schedules.
//
// A rank runs one action at a time (a pair may overlap). A hop is a delay
// between the end of the producer and the start of the consumer, in both
// directions, if two stages are on different ranks; it occupies no resource.
// Memory, in any unit, grows by `activation` when F starts, and shrinks by
// `activation` - `kept` when I ends and by `kept` when W ends, or by both when
// B ends or, without backwards, F.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_SCHEDULEPROBLEM_H
#define STAGEWRIGHT_SCHEDULING_SCHEDULEPROBLEM_H

#include "stagewright/Scheduling/Placement.h"
#include "stagewright/Scheduling/Schedule.h"
#include "stagewright/Support/Units.h"
#include <limits>

namespace stagewright {

/// The times of one microbatch on one stage.
struct StageTimes {
  Seconds forward, inputGradient, weightGradient;

  /// The time of an action of `kind`: B is the sum of I and W, R is F, U is 0.
  Seconds of(ActionKind kind) const;
  Seconds total() const { return forward + inputGradient + weightGradient; }
};

/// The costs of one stage for one microbatch.
struct StageCosts {
  Seconds forward, inputGradient, weightGradient;
  double activation = 1; ///< Held from F to I.
  double kept = 1;       ///< Still held from I to W; at most `activation`.
  /// Held from F to R instead of `activation` if a schedule recomputes the
  /// forward (R takes `forward` seconds).
  double recomputeInput = 0;

  StageTimes times() const { return {forward, inputGradient, weightGradient}; }
  Seconds total() const { return times().total(); }
};

struct ScheduleProblem {
  Placement placement = Placement::Linear;
  int64_t ranks = 1, chunks = 1, microbatches = 1;
  int64_t spare = 0;              ///< Last ranks without a last chunk (Loop).
  std::vector<StageCosts> stages; ///< numStages() of them.
  /// Delays from stage s to s + 1, and back; ignored within a rank. One less
  /// than stages.
  std::vector<Seconds> hops;
  double memory = std::numeric_limits<double>::infinity(); ///< Of each rank.
  bool forwardOnly = false;
  /// The time of a pair of a forward and a backward, as a factor of their sum;
  /// both results are available at its end. 0: no overlap, one after the other.
  double overlap = 0;

  int64_t numStages() const {
    return stagewright::numStages(placement, ranks, chunks, spare);
  }
  int64_t rankOf(int64_t stage) const {
    return stagewright::rankOf(placement, ranks, chunks, stage);
  }
  /// Delay from `stage` to the next one: 0 if they are on one rank.
  Seconds hopAfter(int64_t stage) const {
    return rankOf(stage) == rankOf(stage + 1) ? Seconds() : hops[stage];
  }
  /// Checks that numbers are in range, that times and amounts of memory are
  /// from 0 to 1e100, so that sums are finite (the limit may be infinite), and
  /// that `kept` and `recomputeInput` are at most `activation`.
  Status check() const;
};

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_SCHEDULEPROBLEM_H
