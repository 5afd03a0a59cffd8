//===- Depths.cpp - ring depths of channels and stashes -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankPlan.h"

namespace stagewright::torank {

/// The phase of an action in the stage graph; B is represented by I.
static StagePhase toPhase(const ActionKey &key) {
  ActionKind kind =
      key.kind == ActionKind::Backward ? ActionKind::InputGradient : key.kind;
  return {kind, key.stage};
}

/// Whether `channel` goes to a stage next to the one that makes its value. Its
/// ring then has one slot more than the receiver holds, for the next message to
/// arrive, as the planner assumes; a sender that is ahead waits. The ring of a
/// channel that skips stages has a slot for every value in flight.
static bool isNext(const Plan &plan, const ChannelPlan &channel) {
  const ActionKey &made = plan.values.find(channel.value)->second.made;
  return std::abs(plan.stageNumber(made.stage) -
                  plan.stageNumber(channel.stage)) == 1;
}

/// The receiver's phase of the kind in which the value is made. The first use
/// of the value may come later, but its slot is needed from this phase on: the
/// sender waits for the slot before it sends what the receiver needs in this
/// phase.
static StagePhase arrivalOf(const Plan &plan, const ChannelPlan &channel) {
  ActionKey made = plan.values.find(channel.value)->second.made;
  return toPhase({made.kind, channel.stage});
}

namespace {
/// Limits the slots of channels to neighbouring stages.
class Caps {
public:
  /// `shape`: the stages, and whether there are forwards only.
  Caps(Plan &plan, const StageGraph &shape) : plan(plan), shape(shape) {}

  /// Adds a channel whose receiver holds at most `held` slots.
  void add(ChannelPlan &channel, StagePhase made, StagePhase first,
           StagePhase last, RingDepth held) {
    channels.push_back({&channel, made, first, last, held, channel.depth});
  }
  /// Gives rings between neighbours one slot more than are held. If a schedule
  /// of `runs` would deadlock with that, because a sender is far ahead (as in
  /// `window`), gives rings with one held slot up to 8 more; if it still would,
  /// all rings keep a slot for every value in flight.
  void choose(ArrayRef<Schedule> runs);

private:
  struct Entry {
    ChannelPlan *channel;
    StagePhase made, first, last;
    RingDepth held, full;
  };
  RingDepth capped(const Entry &entry, int64_t more) const;
  bool finishes(const Schedule &run, int64_t more) const;

  Plan &plan;
  StageGraph shape;
  std::vector<Entry> channels;
};
} // namespace

RingDepth Caps::capped(const Entry &entry, int64_t more) const {
  if (!isNext(plan, *entry.channel) || entry.held.all)
    return entry.full;
  int64_t most = entry.held.slots + 1;
  if (!entry.full.all)
    most = std::min(most, entry.full.slots);
  return {entry.held.slots == 1 ? most + more : most, false};
}

/// Whether `run` finishes without a deadlock if rings with one held slot get
/// `more` further slots.
bool Caps::finishes(const Schedule &run, int64_t more) const {
  std::set<std::tuple<StagePhase, StagePhase, StagePhase, int64_t>> edges;
  for (const Entry &entry : channels)
    edges.insert({entry.made, entry.first, entry.last,
                  capped(entry, more).at(run.microbatches)});
  StageGraph graph = shape;
  graph.edges.clear();
  for (const auto &[made, first, last, slots] : edges)
    graph.edges.push_back({made, first, last, slots});
  return bool(timeSchedule(run, graph, unitTimes(graph.stages)));
}

void Caps::choose(ArrayRef<Schedule> runs) {
  for (int64_t more : {0, 1, 2, 4, 8})
    if (llvm::all_of(
            runs, [&](const Schedule &run) { return finishes(run, more); })) {
      for (const Entry &entry : channels)
        entry.channel->depth = capped(entry, more);
      return;
    }
}

/// Chooses depths for every number of microbatches.
static LogicalResult chooseFamilyDepths(Plan &plan) {
  StageGraph graph;
  graph.stages = plan.numStages;
  graph.forwardOnly = llvm::all_of(plan.actions, [](const auto &entry) {
    return entry.first.kind == ActionKind::Forward;
  });
  std::set<std::tuple<StagePhase, StagePhase, StagePhase>> edges;
  // Parallel pipelines are equal, so copies of a stage count as one.
  auto alike = [&](StagePhase phase) {
    phase.stage = plan.stageNumber(phase.stage);
    return phase;
  };
  auto phaseOf = [&](const ActionKey &key) { return alike(toPhase(key)); };
  for (const ChannelPlan &channel : plan.channels)
    edges.insert({phaseOf(plan.values[channel.value].made),
                  phaseOf(channel.first), phaseOf(channel.last)});
  for (const auto &[producer, first, last] : edges)
    graph.edges.push_back({producer, first, last, 0});
  Result<RingDepths> depths = RingDepths::create(*plan.family, graph);
  if (!depths)
    return emitError(plan.schedule.getLoc()) << depths.error().message;
  Caps caps(plan, graph);
  for (ChannelPlan &channel : plan.channels) {
    StagePhase made = phaseOf(plan.values[channel.value].made),
               last = phaseOf(channel.last);
    channel.depth = depths->between(made, last);
    caps.add(channel, made, phaseOf(channel.first), last,
             depths->between(alike(arrivalOf(plan, channel)), last));
  }
  // The numbers of microbatches for which programs are verified.
  SmallVector<Schedule> runs;
  for (int64_t m : formsOfLoops(plan.numStages))
    runs.push_back((*plan.family)(m));
  caps.choose(runs);
  for (auto &[value, made] : plan.values)
    for (StashPlan &stash : made.stashes)
      stash.depth = depths->between(phaseOf(made.made), phaseOf(stash.last));
  chooseOffloadDepths(plan, [&](const StashPlan &stash) {
    return depths->between(phaseOf(stash.first), phaseOf(stash.last));
  });
  return success();
}

/// Chooses depths for the one schedule of the plan. Many values are live
/// between the same two actions, so each pair is computed once.
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
  Caps caps(plan, plan.stageGraph);
  for (ChannelPlan &channel : plan.channels) {
    StagePhase made = toPhase(plan.values[channel.value].made);
    channel.depth = between(made, channel.last);
    caps.add(channel, made, toPhase(channel.first), toPhase(channel.last),
             between(arrivalOf(plan, channel), channel.last));
  }
  // Copies of stages have slots of their own, which a trial run of the schedule
  // does not know; the programs are verified later.
  if (plan.numCopies() > 1)
    caps.choose({});
  else
    caps.choose(plan.data);
  for (auto &[value, made] : plan.values)
    for (StashPlan &stash : made.stashes)
      stash.depth = between(toPhase(made.made), stash.last);
  chooseOffloadDepths(plan, [&](const StashPlan &stash) {
    return between(toPhase(stash.first), stash.last);
  });
  return success();
}

/// Chooses depths from the credits of the stages. A copy of a stage has its
/// share of them.
static LogicalResult chooseReadyDepths(Plan &plan) {
  auto slots = [&](StagePhase made, const ActionKey &last) {
    int64_t copy = last.stage / plan.numStages;
    StagePhase to = toPhase(last);
    made.stage = plan.stageNumber(made.stage);
    to.stage = plan.stageNumber(to.stage);
    return RingDepth{slotsOfTurns(slotsOf(plan.credits, made, to),
                                  int64_t(plan.microbatchesOf[copy].size()),
                                  plan.data.microbatches),
                     false};
  };
  for (ChannelPlan &channel : plan.channels)
    channel.depth =
        slots(toPhase(plan.values[channel.value].made), channel.last);
  for (auto &[value, made] : plan.values)
    for (StashPlan &stash : made.stashes)
      stash.depth = slots(toPhase(made.made), stash.last);
  chooseOffloadDepths(plan, [&](const StashPlan &stash) {
    return stash.first.kind == stash.last.kind
               ? RingDepth()
               : slots(toPhase(stash.first), stash.last);
  });
  return success();
}

LogicalResult chooseDepths(Plan &plan) {
  if (!plan.credits.empty())
    return chooseReadyDepths(plan);
  return plan.family ? chooseFamilyDepths(plan) : chooseOrderDepths(plan);
}

} // namespace stagewright::torank
