//===- Builder.h - orders, one action after another -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: what all generators need.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_BUILDER_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_BUILDER_H

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// An order as it grows: every action takes the next microbatch of its stage
/// and kind. Leaves out what is no forward where there is no backward.
class Builder {
public:
  Builder(int64_t stages, bool forwardOnly)
      : forwardOnly(forwardOnly), first(stages, 0), forwards(stages, 0),
        inputGradients(stages, 0), weightGradients(stages, 0) {}

  /// Microbatches of `stage` are counted from `microbatch` on.
  void startAt(int64_t stage, int64_t microbatch) { first[stage] = microbatch; }
  /// Appends the next action of a kind of F, B, I, W.
  void run(ActionKind kind, int64_t stage);
  void run(std::initializer_list<ActionKind> kinds, int64_t stage) {
    for (ActionKind kind : kinds)
      run(kind, stage);
  }
  /// Appends the next forward of a stage and the next backward of another, as a
  /// pair.
  void pair(int64_t forwardStage, int64_t backwardStage);
  /// Forwards of `stage` so far.
  int64_t count(int64_t stage) const { return forwards[stage]; }
  Order take() { return std::move(order); }

private:
  Order order;
  bool forwardOnly;
  std::vector<int64_t> first, forwards, inputGradients, weightGradients;
};

/// An empty schedule for a shape whose numbers are positive, not too large to
/// write down, and whose chunks lie from `leastChunks` to `mostChunks` (0: no
/// limit). `kind` is the name of the generator, for the error.
Result<Schedule> startSchedule(const char *kind, const ScheduleShape &shape,
                               Placement placement, int64_t leastChunks,
                               int64_t mostChunks);

/// "schedule 'zb-v' needs ", for errors.
Error needs(const char *kind, const std::string &what);

/// The hop ratio, if it is a time: finite and not negative.
Result<double> checkHopRatio(const char *kind, const ScheduleShape &shape);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_BUILDER_H
