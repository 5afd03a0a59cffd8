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

/// Whether `channel` goes to a stage next to the one that makes its value. Its
/// ring then has one slot more than the receiver holds, for the next message to
/// arrive, as the planner counts: a sender that is ahead waits. One that skips
/// stages has the slots of all that are on their way.
static bool isNext(const Plan &plan, const ChannelPlan &channel) {
  const ActionKey &made = plan.values.find(channel.value)->second.made;
  return std::abs(plan.stageNumber(made.stage) -
                  plan.stageNumber(channel.stage)) == 1;
}

/// What the receiver of `channel` runs of the phase that makes its value. The
/// first use may come later, but the sender waits for a slot before it sends
/// what the receiver needs then.
static StagePhase arrivalOf(const Plan &plan, const ChannelPlan &channel) {
  ActionKey made = plan.values.find(channel.value)->second.made;
  return toPhase({made.kind, channel.stage});
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
  for (ChannelPlan &channel : plan.channels) {
    channel.depth = depths->between(phaseOf(plan.values[channel.value].made),
                                    phaseOf(channel.last));
    StagePhase arrival = arrivalOf(plan, channel);
    arrival.stage = plan.stageNumber(arrival.stage);
    RingDepth held = depths->between(arrival, phaseOf(channel.last));
    if (!isNext(plan, channel) || held.all)
      continue;
    int64_t most = held.slots + 1;
    channel.depth.slots =
        channel.depth.all ? most : std::min(channel.depth.slots, most);
    channel.depth.all = false;
  }
  for (auto &[value, made] : plan.values)
    for (StashPlan &stash : made.stashes)
      stash.depth = depths->between(phaseOf(made.made), phaseOf(stash.last));
  return success();
}

/// Whether the ranks finish where every channel has its number of `slots`.
static bool finishes(const Plan &plan, ArrayRef<int64_t> slots) {
  StageGraph graph = plan.stageGraph;
  graph.edges.clear();
  for (auto [channel, depth] : llvm::zip_equal(plan.channels, slots))
    graph.edges.push_back(
        {toPhase(plan.values.find(channel.value)->second.made),
         toPhase(channel.first), toPhase(channel.last), depth});
  return bool(simulate(plan.data, graph, unitTimes(graph.stages)));
}

/// Caps channels to stages next to them, unless the ranks would then wait for
/// one another.
static void capChannels(
    Plan &plan,
    function_ref<int64_t(const StagePhase &, const ActionKey &)> between) {
  SmallVector<int64_t> capped;
  for (const ChannelPlan &channel : plan.channels) {
    capped.push_back(channel.depth.slots);
    if (isNext(plan, channel))
      capped.back() = std::min(
          capped.back(), between(arrivalOf(plan, channel), channel.last) + 1);
  }
  // Copies of stages have slots of their own, which are proved later on.
  if (plan.numCopies() > 1 || finishes(plan, capped))
    for (auto [channel, slots] : llvm::zip_equal(plan.channels, capped))
      channel.depth.slots = slots;
}

/// The same for the one schedule at hand. Many values live between the same two
/// actions, so each pair is looked at once.
static LogicalResult chooseOrderDepths(Plan &plan) {
  Result<OrderDepths> depths = OrderDepths::create(plan.data, plan.stageGraph);
  if (!depths)
    return emitError(plan.schedule.getLoc()) << depths.error().message;
  std::map<std::pair<StagePhase, ActionKey>, int64_t> known;
  auto between = [&](StagePhase from, const ActionKey &last) {
    auto [entry, isNew] = known.try_emplace({from, last}, 0);
    if (isNew) {
      StagePhase to = toPhase(last);
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
    channel.depth = between(toPhase(made), channel.last);
  }
  capChannels(plan, [&](const StagePhase &first, const ActionKey &last) {
    return between(first, last).slots;
  });
  for (auto &[value, made] : plan.values)
    for (StashPlan &stash : made.stashes)
      stash.depth = between(toPhase(made.made), stash.last);
  return success();
}

LogicalResult stagewright::torank::chooseDepths(Plan &plan) {
  return plan.family ? chooseFamilyDepths(plan) : chooseOrderDepths(plan);
}
