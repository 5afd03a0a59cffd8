//===- Offload.cpp - stashes offloaded to the host ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An offloaded stash has two rings on the device and one on the host. A forward
// writes the first, whose slot is free once it is copied to the host; the copy
// back goes to the second, which backwards read. Microbatches in between take
// memory of the host only.
//
// If the order of a stage allows it (Plan::fetchesAhead), a slot is fetched one
// turn ahead, when the backward of the turn before begins, so that the copy
// overlaps with that backward and the forward after it. The first backward then
// also fetches its own slot, before it waits for its gradient. Otherwise every
// backward fetches its own slot.
//
//===----------------------------------------------------------------------===//

#include "RankPlan.h"
#include "stagewright/Scheduling/InFlight.h"

namespace stagewright::torank {

/// Whether `order` runs the turns of one copy of a stage in order, and each
/// backward after the forward of the next turn.
static bool isOneAhead(const Order &order, int64_t stage, int64_t stride) {
  std::map<ActionKind, int64_t> next;
  int64_t all = llvm::count_if(order, [&](const Action &action) {
    return action.stage == stage && action.kind == ActionKind::Forward;
  });
  for (const Action &action : order) {
    if (action.stage != stage || action.kind == ActionKind::Update)
      continue;
    int64_t turn = action.microbatch / stride;
    if (next[action.kind]++ != turn)
      return false;
    if (action.kind != ActionKind::Forward &&
        next[ActionKind::Forward] < std::min(turn + 2, all))
      return false;
  }
  // False if some turns run I and W and others whole backwards.
  return llvm::all_of(next,
                      [&](const auto &entry) { return entry.second == all; });
}

static bool fetchesAhead(const Plan &plan, int64_t stage) {
  if (!plan.family)
    return isOneAhead(
        orderOfCopies(plan, plan.rankOfStage[stage]), stage,
        plan.pipelines > 1 ? 1 : plan.strideOf(stage / plan.numStages));
  int64_t own = plan.stageNumber(stage);
  return llvm::all_of(formsOfLoops(plan.numStages), [&](int64_t m) {
    return isOneAhead((*plan.family)(m).ranks[own], own, 1);
  });
}

void chooseOffload(Plan &plan) {
  llvm::DenseSet<int64_t> layers;
  for (auto stage :
       pipeline::ProgramOp(plan.program).getOps<pipeline::StageOp>())
    if (std::optional<ArrayRef<int64_t>> own = stage.getOffload())
      layers.insert(own->begin(), own->end());
  if (layers.empty())
    return;
  for (auto &[value, made] : plan.values) {
    auto node = value.getDefiningOp<pipeline::NodeOp>();
    if (made.made.kind != ActionKind::Forward ||
        !layers.contains(node.getLayer()))
      continue;
    for (StashPlan &stash : made.stashes)
      stash.offloaded = stash.stage == made.made.stage && !stash.gathers &&
                        stash.first.kind != ActionKind::Recompute;
  }
  for (int64_t stage = 0; stage < int64_t(plan.rankOfStage.size()); ++stage)
    plan.fetchesAhead.push_back(plan.credits.empty() &&
                                fetchesAhead(plan, stage));
}

void chooseOffloadDepths(
    Plan &plan, function_ref<RingDepth(const StashPlan &)> betweenUses) {
  for (auto &[value, made] : plan.values)
    for (StashPlan &stash : made.stashes) {
      if (!stash.offloaded)
        continue;
      stash.onHost = stash.depth;
      stash.depth = {slotsLeaving(plan.data.kind), false};
      stash.back = betweenUses(stash);
      if (plan.fetchesAhead[stash.stage] && !stash.back.all)
        stash.back.slots = slotsComing(stash.back.slots);
    }
}

} // namespace stagewright::torank
