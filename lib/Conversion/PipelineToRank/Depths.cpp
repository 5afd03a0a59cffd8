//===- Depths.cpp - slots of channels and stashes -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"

using namespace mlir;
using namespace stagewright;
using namespace stagewright::torank;

/// What an action is in the graph of stages: B stands for both of its phases.
static StagePhase toPhase(const ActionKey &key) {
  ActionKind kind =
      key.kind == ActionKind::Backward ? ActionKind::InputGradient : key.kind;
  return {kind, key.stage};
}

/// For every number of microbatches.
static LogicalResult chooseFamilyDepths(Plan &plan) {
  StageGraph graph;
  graph.stages = plan.numStages;
  graph.forwardOnly = llvm::all_of(plan.actions, [](const auto &entry) {
    return entry.first.kind == ActionKind::Forward;
  });
  std::set<std::tuple<StagePhase, StagePhase, StagePhase>> edges;
  // Pipelines side by side are alike.
  auto phaseOf = [&](const ActionKey &key) {
    StagePhase phase = toPhase(key);
    phase.stage = plan.stageNumber(phase.stage);
    return phase;
  };
  for (const ChannelPlan &channel : plan.channels)
    edges.insert({phaseOf(plan.values[channel.value].made),
                  phaseOf(channel.first), phaseOf(channel.last)});
  for (const auto &[producer, first, last] : edges)
    graph.edges.push_back({producer, first, last, 0});
  Result<RingDepths> depths = RingDepths::create(*plan.family, graph);
  if (!depths)
    return emitError(plan.schedule.getLoc()) << depths.error().message;
  for (ChannelPlan &channel : plan.channels)
    channel.depth = depths->between(phaseOf(plan.values[channel.value].made),
                                    phaseOf(channel.last));
  for (auto &[value, made] : plan.values)
    for (StashPlan &stash : made.stashes)
      stash.depth = depths->between(phaseOf(made.made), phaseOf(stash.last));
  return success();
}

/// Whether routes meet at an end of `channel`, whose messages go to a stage
/// next to it. Every route has its own ring then, and the planner counts on one
/// slot more than are in use: what a stage of fewer replicas sends in a burst
/// waits.
static bool meets(const Plan &plan, const ActionKey &made,
                  const ChannelPlan &channel) {
  return plan.pipelines == 1 && plan.numCopies() > 1 &&
         std::abs(plan.stageNumber(made.stage) -
                  plan.stageNumber(channel.stage)) == 1;
}

/// The same for the one schedule at hand. Many values live between the same two
/// actions, so each pair is looked at once.
static LogicalResult chooseOrderDepths(Plan &plan) {
  Result<OrderDepths> depths = OrderDepths::create(plan.data, plan.stageGraph);
  if (!depths)
    return emitError(plan.schedule.getLoc()) << depths.error().message;
  std::map<std::pair<ActionKey, ActionKey>, int64_t> known;
  auto between = [&](const ActionKey &made, const ActionKey &last) {
    auto [entry, isNew] = known.try_emplace({made, last}, 0);
    if (isNew) {
      StagePhase from = toPhase(made), to = toPhase(last);
      int64_t copy = from.stage / plan.numStages;
      from.stage = plan.stageNumber(from.stage);
      to.stage = plan.stageNumber(to.stage);
      entry->second = depths->between(from, to, plan.microbatchesOf[copy],
                                      plan.strideOf(copy));
    }
    return RingDepth{entry->second, false};
  };
  for (ChannelPlan &channel : plan.channels) {
    const ActionKey &made = plan.values[channel.value].made;
    channel.depth = between(made, channel.last);
    if (meets(plan, made, channel))
      channel.depth.slots = std::min(
          channel.depth.slots, between(channel.first, channel.last).slots + 1);
  }
  for (auto &[value, made] : plan.values)
    for (StashPlan &stash : made.stashes)
      stash.depth = between(made.made, stash.last);
  return success();
}

LogicalResult stagewright::torank::chooseDepths(Plan &plan) {
  return plan.family ? chooseFamilyDepths(plan) : chooseOrderDepths(plan);
}
