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
// run in the order of their microbatches, so sums over microbatches keep their
// bits. Of several lanes that are ready, those of B and I go first, then F,
// then W, which no other stage waits for; among equals, the lane whose next
// place in the schedule is first. An R runs with the backward that needs it, as
// one block: on its own it would be ready as soon as its forward has run, and
// would hold memory until the backward.
//
// The rule and the credits are those of actors (Yuan et al., "OneFlow: Redesign
// the distributed deep learning framework from scratch", 2021, section 4). With
// one place for the messages of each ring and one for its free slots, ranks
// form a marked graph (MarkedGraph.h). Messages alone form no cycle, so every
// cycle contains the free slots of a ring: with at least one slot in each ring,
// no ready-first execution deadlocks. Each shard of a layer chooses its next
// action alone: each level is a stage of its own, and an action that has
// started waits for nothing, so the ranks of a gang (Gangs.h) need not make the
// same choice.
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
  /// One action each, or an R and its backward. Actions keep their stages: each
  /// is `stage` plus a multiple of the number of stages.
  std::vector<Order> blocks;
  /// Numbers in the order, increasing; the k-th block is due at the k-th.
  std::vector<int64_t> places;
};

/// The lanes of a rank that runs the actions of `order` except updates, by
/// priority, then stage. Stages with the same number modulo `stages` share a
/// lane. If the order runs I and W of a stage apart, its B become I and W.
std::vector<Lane> lanesOf(const Order &order, int64_t stages);

/// Slots of a ring for a value made in `made` and last used in `last`, if at
/// most `credits[s]` microbatches are in flight on stage s, from their forward
/// to the end of their backward. Within stage s these are credits[s], or 1 from
/// R to I. Between two stages they are the sum of three numbers:
///  * the difference of the two stages' credits; for neighbours half of it,
///    since the other half is under way in the other direction; at least 1;
///  * half of the credits of the stage that has the fewest;
///  * 1 for the message in use or, if the receiver keeps the value for a later
///    action (F to I or W, or anything to W), all credits of the receiver.
int64_t slotsOf(const std::vector<int64_t> &credits, StagePhase made,
                StagePhase last);

/// The same if `fewest` is the min of `credits`. O(1).
int64_t slotsOf(const std::vector<int64_t> &credits, int64_t fewest,
                StagePhase made, StagePhase last);

/// The part of `slots` for `turns` of the microbatches, those of one route
/// (Routes.h).
int64_t slotsOfTurns(int64_t slots, int64_t turns, int64_t microbatches);

/// `graph` with these slots as depths of its edges and, after them, an edge
/// from the forward of each stage to its backward.
StageGraph withCredits(StageGraph graph, const std::vector<int64_t> &credits);

/// Checks that no ready-first execution of `graph` is ever stuck with
/// `credits`, a number for each stage, at least 1: every cycle of withCredits()
/// must have a slot. The error names a cycle without one, which consists of
/// values that wait for each other.
Status checkCredits(const StageGraph &graph,
                    const std::vector<int64_t> &credits);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_READYFIRST_H
