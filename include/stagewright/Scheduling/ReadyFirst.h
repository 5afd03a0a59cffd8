//===- ReadyFirst.h - actions as they become ready ------------ -*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ready-first execution: a rank has no fixed order. It runs the first action
// whose inputs have arrived and whose outputs have credit, a free slot in every
// ring that it fills. Actions of one kind and stage on a rank form a lane, and
// go through it one after the other, so sums over microbatches keep their bits.
// Of several lanes that are ready, those of B and I go first, then F, then W,
// which no other stage waits for; within a class that which the schedule has
// first. An R runs with the backward that needs it, as one block: it
// is ready as soon as its forward has run, and would hold memory until then.
//
// The rule and the credits are those of actors (Yuan et al., "OneFlow:
// Redesign the distributed deep learning framework from scratch", 2021, section
// 4). With one place for each ring, for its messages and for its free slots,
// ranks form a marked graph (MarkedGraph.h). Messages alone form no cycle, so
// every cycle contains the free slots of a ring: with at least one slot in each
// ring, no ready-first execution deadlocks. The shards of a layer choose for
// themselves: each level is a stage of its own, and no action waits inside, so
// a gang (Gangs.h) needs no common choice.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_READYFIRST_H
#define STAGEWRIGHT_SCHEDULING_READYFIRST_H

#include "stagewright/Scheduling/MarkedGraph.h"
#include "stagewright/Scheduling/StageGraph.h"

namespace stagewright {

/// Blocks of one kind and stage, in the order in which a rank runs them.
struct Lane {
  ActionKind kind = ActionKind::Forward; ///< Of the last action of each block.
  int64_t stage = 0;
  int64_t priority = 0; ///< 0 goes first.
  /// One action each, or an R and its backward. Actions keep their stages,
  /// which may be copies of `stage`.
  std::vector<Order> blocks;
  std::vector<int64_t> places; ///< By block: its number in the order.
};

/// The lanes of a rank that runs the actions of `order` except updates, by
/// priority, then stage. Stages with the same number modulo `stages` share a
/// lane. If the order runs I and W of a stage apart, its B become I and W.
std::vector<Lane> lanesOf(const Order &order, int64_t stages);

/// Slots of a ring for a value made in `made` and last used in `last`, if at
/// most `credits[s]` microbatches are in flight on stage s, from their forward
/// to the end of their backward. A value that the backward of its own stage
/// frees has as many. Between stages, half of the difference of the credits is
/// under way in each direction, and half of the credits that even the stage
/// with the fewest has; a ring between neighbours has one slot more for the
/// message that is used, a ring that skips stages one for every microbatch that
/// may be under way.
int64_t slotsOf(const std::vector<int64_t> &credits, StagePhase made,
                StagePhase last);

/// `graph` with these slots as depths of its edges and, after them, an edge
/// from the forward of each stage to its backward.
StageGraph withCredits(StageGraph graph, const std::vector<int64_t> &credits);

/// Checks that no ready-first execution of `graph` is ever stuck with
/// `credits`: one for each stage, and at least one on every cycle. The error
/// names a cycle that has none.
Status checkCredits(const StageGraph &graph,
                    const std::vector<int64_t> &credits);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_READYFIRST_H
