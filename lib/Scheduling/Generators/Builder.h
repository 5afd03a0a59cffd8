//===- Builder.h - building the order of a rank -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: functions that all generators need.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_BUILDER_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_BUILDER_H

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// Builds an order action by action: each takes the next microbatch of its
/// stage and kind. If `forwardOnly`, actions other than forwards are left out.
class Builder {
public:
  Builder(int64_t stages, bool forwardOnly)
      : forwardOnly(forwardOnly), first(stages, 0), forwards(stages, 0),
        inputGradients(stages, 0), weightGradients(stages, 0) {}

  /// The first microbatch of `stage` is number `microbatch`.
  void startAt(int64_t stage, int64_t microbatch) { first[stage] = microbatch; }
  /// Appends the next action of kind F, B, I or W.
  void run(ActionKind kind, int64_t stage);
  void run(std::initializer_list<ActionKind> kinds, int64_t stage) {
    for (ActionKind kind : kinds)
      run(kind, stage);
  }
  /// Appends the next forward of one stage and the next backward of another as
  /// a pair.
  void pair(int64_t forwardStage, int64_t backwardStage);
  /// Number of forwards of `stage` so far.
  int64_t count(int64_t stage) const { return forwards[stage]; }
  Order take() { return std::move(order); }

private:
  Order order;
  bool forwardOnly;
  std::vector<int64_t> first, forwards, inputGradients, weightGradients;
};

/// An empty schedule for `shape`. An error if its numbers are not positive, if
/// it has too many forwards, or if its chunks are not in [`leastChunks`,
/// `mostChunks`] (0: no limit). `kind` is the generator's name, for the error.
Result<Schedule> startSchedule(const char *kind, const ScheduleShape &shape,
                               Placement placement, int64_t leastChunks,
                               int64_t mostChunks);

/// The error "schedule 'zb-v' needs " followed by `what`, for kind zb-v.
Error needs(const char *kind, const std::string &what);

/// The hop ratio; an error unless it is finite and not negative.
Result<double> checkHopRatio(const char *kind, const ScheduleShape &shape);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_BUILDER_H
