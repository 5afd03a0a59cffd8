//===- Completeness.cpp - checks that no action is missing ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checks of Dependences that concern single actions and not their order.
//
//===----------------------------------------------------------------------===//

#include "OrderGrid.h"
#include "stagewright/Scheduling/Dependences.h"
#include <algorithm>
#include <array>
#include <set>

namespace stagewright {

/// The phases that the index contains, in its order. Updates are not among
/// them: they have no microbatch, and a stage on several ranks has several.
static constexpr std::array<ActionKind, 4> kPhases = {
    ActionKind::Forward, ActionKind::InputGradient, ActionKind::WeightGradient,
    ActionKind::Recompute};

static size_t phaseIndex(ActionKind phase) {
  size_t index = 0;
  while (kPhases[index] != phase)
    ++index;
  return index;
}

size_t Dependences::find(StagePhase phase, int64_t microbatch) const {
  size_t row = phase.stage * kPhases.size() + phaseIndex(phase.phase);
  return byPhase[row * microbatches + microbatch];
}

static std::string onRank(const Action &action, int64_t rank) {
  return toString(action) + " on rank " + std::to_string(rank);
}

Error Dependences::errorAbout(const std::string &message,
                              const Schedule &schedule,
                              const std::vector<size_t> &numbers) const {
  std::vector<OrderMark> marks;
  for (size_t number : numbers)
    marks.push_back({ranks[number], step(number)});
  return errorAt(message, schedule, marks);
}

/// The first missing forward of a schedule with far fewer actions than
/// microbatches times stages. Builds no table of all of them, which may be
/// huge.
static Error firstForwardMissing(const Schedule &schedule) {
  std::vector<std::pair<int64_t, int64_t>> forwards;
  for (const Order &order : schedule.ranks)
    for (const Action &action : order)
      if (action.kind == ActionKind::Forward)
        forwards.push_back({action.stage, action.microbatch});
  std::sort(forwards.begin(), forwards.end());
  std::pair<int64_t, int64_t> wanted = {0, 0};
  for (const std::pair<int64_t, int64_t> &forward : forwards) {
    if (forward > wanted)
      break;
    if (forward < wanted)
      continue;
    if (++wanted.second == schedule.microbatches)
      wanted = {wanted.first + 1, 0};
  }
  return Error{
      "schedule lacks " +
      toString(Action{ActionKind::Forward, wanted.first, wanted.second})};
}

/// The error of `order[step]` as the second of a pair; empty if none.
static std::string pairFault(const Order &order, size_t step) {
  const Action &second = order[step];
  if (!second.paired)
    return "";
  if (step == 0)
    return " is a pair with the action before it, but is the first of its rank";
  const Action &first = order[step - 1];
  std::string with = " cannot be a pair with " + toString(first) + ": ";
  bool forward = first.kind == ActionKind::Forward && !first.paired;
  bool backward = second.kind == ActionKind::Backward ||
                  second.kind == ActionKind::InputGradient;
  if (!forward || !backward)
    return with + "a pair is a forward and then a backward, B or I";
  if (first.stage == second.stage && first.microbatch == second.microbatch)
    return with + "the backward needs this very forward";
  return "";
}

/// The error for two actions that run the same phase of a microbatch and stage.
std::string Dependences::twice(size_t first, size_t second) const {
  std::string text = toString(actions[second]);
  if (ranks[first] == ranks[second] && text == toString(actions[first]))
    return "schedule runs " + text + " twice on rank " +
           std::to_string(ranks[first]) + ", steps " +
           std::to_string(step(first)) + " and " + std::to_string(step(second));
  return "schedule runs " + onRank(actions[second], ranks[second]) +
         " although it runs " + onRank(actions[first], ranks[first]);
}

/// Checks one action and adds it to the index.
Status Dependences::enter(const Schedule &schedule, int64_t rank, size_t step) {
  const Action &action = schedule.ranks[rank][step];
  size_t number = actions.size(), none = waitsFrom.size();
  if (action.stage < 0 || action.stage >= stages || action.microbatch < 0 ||
      action.microbatch >= microbatches)
    return errorAt(
        "action " + onRank(action, rank) + " does not exist; there " +
            (stages == 1 ? "is 1 stage"
                         : "are " + std::to_string(stages) + " stages") +
            " and " + std::to_string(microbatches) +
            (microbatches == 1 ? " microbatch" : " microbatches"),
        schedule, {{rank, step}});
  if (std::string fault = pairFault(schedule.ranks[rank], step); !fault.empty())
    return errorAt(onRank(action, rank) + fault, schedule, {{rank, step}});
  actions.push_back(action);
  ranks.push_back(rank);
  for (ActionKind phase : kPhases) {
    if (!runsPhase(action.kind, phase))
      continue;
    size_t row = action.stage * kPhases.size() + phaseIndex(phase);
    size_t &entry = byPhase[row * microbatches + action.microbatch];
    if (entry != none)
      return errorAbout(twice(entry, number), schedule, {number, entry});
    entry = number;
  }
  return {};
}

Status Dependences::index(const Schedule &schedule, const StageGraph &graph) {
  stages = graph.stages;
  microbatches = schedule.microbatches;
  if (schedule.stages != stages)
    return Error{"schedule has " + std::to_string(schedule.stages) +
                 " stages, the program has " + std::to_string(stages)};
  if (stages < 1 || microbatches < 1)
    return Error{
        "a schedule needs a stage and a microbatch at least, but has " +
        std::to_string(stages) + " and " + std::to_string(microbatches)};
  size_t count = 0;
  for (const Order &order : schedule.ranks)
    count += order.size();
  // Far too few actions: build no table, and point at no action.
  if ((2 * count + 1000) / size_t(microbatches) < size_t(stages))
    return firstForwardMissing(schedule);
  byPhase.assign(stages * kPhases.size() * microbatches, count);
  waitsFrom.resize(count); // enter() uses its size as `none`.
  actions.reserve(count);
  ranks.reserve(count);
  for (int64_t rank = 0; rank < int64_t(schedule.ranks.size()); ++rank) {
    starts.push_back(actions.size());
    for (size_t step = 0; step < schedule.ranks[rank].size(); ++step)
      if (Status status = enter(schedule, rank, step); !status)
        return status;
  }
  starts.push_back(actions.size());
  if (Status status = checkPhases(schedule, graph.forwardOnly); !status)
    return status;
  return checkUpdates(schedule);
}

/// The action nearest to a missing one, to point at: of the same stage and a
/// close microbatch, else of a close stage; empty if there is no action.
std::vector<size_t> Dependences::nearest(int64_t stage,
                                         int64_t microbatch) const {
  for (int64_t hops = 0; hops < stages; ++hops)
    for (int64_t s : {stage - hops, stage + hops})
      for (int64_t apart = 0; apart < microbatches; ++apart)
        for (int64_t m : {microbatch - apart, microbatch + apart})
          for (ActionKind phase : kPhases)
            if (s >= 0 && s < stages && m >= 0 && m < microbatches &&
                find({phase, s}, m) != size())
              return {find({phase, s}, m)};
  return {};
}

/// The kind to report if `phase` is missing: B if both I and W are missing and
/// the schedule has whole backwards.
ActionKind Dependences::missing(ActionKind phase, int64_t stage,
                                int64_t microbatch) const {
  bool both = phase == ActionKind::InputGradient &&
              find({ActionKind::WeightGradient, stage}, microbatch) == size();
  bool whole = both && std::any_of(actions.begin(), actions.end(),
                                   [](const Action &action) {
                                     return action.kind == ActionKind::Backward;
                                   });
  return whole ? ActionKind::Backward : phase;
}

/// Checks that every required phase runs, that no other phase does, and that
/// all phases of a microbatch run on the rank that has its stash.
Status Dependences::checkPhases(const Schedule &schedule,
                                bool forwardOnly) const {
  using enum ActionKind;
  for (int64_t stage = 0; stage < stages; ++stage)
    for (int64_t m = 0; m < microbatches; ++m) {
      size_t forward = find({Forward, stage}, m);
      for (ActionKind phase : kPhases) {
        size_t number = find({phase, stage}, m);
        bool wanted = phase == Forward || (phase != Recompute && !forwardOnly);
        if (number == size() && wanted)
          return errorAbout(
              "schedule lacks " +
                  toString(Action{missing(phase, stage, m), stage, m}),
              schedule, nearest(stage, m));
        if (number == size())
          continue;
        if (forwardOnly && phase != Forward)
          return errorAbout("schedule runs " +
                                onRank(actions[number], ranks[number]) +
                                " although the program has no backward",
                            schedule, {number});
        if (ranks[number] != ranks[forward])
          return errorAbout("rank " + std::to_string(ranks[number]) + " runs " +
                                toString(actions[number]) +
                                " of a microbatch that rank " +
                                std::to_string(ranks[forward]) +
                                " keeps; run all of it on one rank",
                            schedule, {forward, number});
      }
    }
  return {};
}

/// If there are updates, checks that there is one per rank and stage for which
/// the rank has gradients.
Status Dependences::checkUpdates(const Schedule &schedule) const {
  std::set<std::pair<int64_t, int64_t>> updates;
  for (size_t number = 0; number < size(); ++number) {
    if (actions[number].kind != ActionKind::Update)
      continue;
    if (!updates.insert({ranks[number], actions[number].stage}).second)
      return errorAbout("schedule runs " +
                            onRank(actions[number], ranks[number]) + " twice",
                        schedule, {number});
  }
  if (updates.empty())
    return {};
  std::set<std::pair<int64_t, int64_t>> wanted;
  for (size_t number = 0; number < size(); ++number)
    if (runsPhase(actions[number].kind, ActionKind::WeightGradient) &&
        wanted.insert({ranks[number], actions[number].stage}).second &&
        !updates.contains({ranks[number], actions[number].stage}))
      return errorAbout(
          "schedule lacks " +
              onRank({ActionKind::Update, actions[number].stage},
                     ranks[number]) +
              ", which has gradients of the stage, but updates others",
          schedule, {number});
  for (size_t number = 0; number < size(); ++number)
    if (actions[number].kind == ActionKind::Update &&
        !wanted.contains({ranks[number], actions[number].stage}))
      return errorAbout("schedule runs " +
                            onRank(actions[number], ranks[number]) +
                            ", which has no gradients of the stage",
                        schedule, {number});
  return {};
}

} // namespace stagewright
