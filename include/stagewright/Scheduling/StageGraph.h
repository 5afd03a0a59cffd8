//===- StageGraph.h - the values sent between stages ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dependences of a program that a schedule must respect: one edge per value
// that one stage sends to another, for every microbatch, without bytes or time.
// Phases are F, I and W; an action B runs both I and W.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_STAGEGRAPH_H
#define STAGEWRIGHT_SCHEDULING_STAGEGRAPH_H

#include "stagewright/Scheduling/Schedule.h"

namespace stagewright {

/// A phase of a stage: where a value is made or used.
struct StagePhase {
  ActionKind phase = ActionKind::Forward; ///< F, I, W or R.
  int64_t stage = 0;

  friend auto operator<=>(const StagePhase &, const StagePhase &) = default;
};

/// A value that one stage sends to another, once per microbatch.
struct StageEdge {
  StagePhase producer;
  StagePhase firstUse; ///< On the receiving stage.
  StagePhase lastUse;  ///< On the receiving stage; frees the slot.
  /// Slots of the ring at the receiver: the producer of microbatch m waits for
  /// the last use of microbatch m - depth. 0: a slot per microbatch, no wait.
  int64_t depth = 0;
};

/// All edges of a program.
struct StageGraph {
  int64_t stages = 0;
  bool forwardOnly = false;
  std::vector<StageEdge> edges;
};

/// Whether an action of `kind` runs `phase`: B runs I and W, other kinds only
/// their own phase.
bool runsPhase(ActionKind kind, ActionKind phase);

/// A chain: forwards go from stage s to s + 1, input gradients back.
StageGraph chainGraph(int64_t stages, bool forwardOnly);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_STAGEGRAPH_H
