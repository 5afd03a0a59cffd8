//===- Dependences.cpp - what each action waits for -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Dependences.h"
#include <array>

namespace stagewright {

bool runsPhase(ActionKind kind, ActionKind phase) {
  if (kind == ActionKind::Backward)
    return phase == ActionKind::InputGradient ||
           phase == ActionKind::WeightGradient;
  return kind == phase;
}

StageGraph chainGraph(int64_t stages, bool forwardOnly) {
  StageGraph graph{stages, forwardOnly, {}};
  using enum ActionKind;
  for (int64_t s = 0; s + 1 < stages; ++s) {
    graph.edges.push_back({{Forward, s}, {Forward, s + 1}, {Forward, s + 1}});
    if (!forwardOnly)
      graph.edges.push_back(
          {{InputGradient, s + 1}, {InputGradient, s}, {InputGradient, s}});
  }
  return graph;
}

/// The phases that the index knows, in its order.
static constexpr std::array<ActionKind, 5> kPhases = {
    ActionKind::Forward, ActionKind::InputGradient, ActionKind::WeightGradient,
    ActionKind::Recompute, ActionKind::Update};

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

/// Text of `what` on a rank of `schedule`, for errors.
static std::string onRank(const Action &action, int64_t rank) {
  return toString(action) + " on rank " + std::to_string(rank);
}

Status Dependences::index(const Schedule &schedule, const StageGraph &graph) {
  microbatches = schedule.microbatches;
  if (schedule.stages != graph.stages)
    return Error{"schedule has " + std::to_string(schedule.stages) +
                 " stages, the program has " + std::to_string(graph.stages)};
  size_t none = 0;
  for (const Order &order : schedule.ranks)
    none += order.size();
  byPhase.assign(graph.stages * kPhases.size() * microbatches, none);
  for (int64_t rank = 0; rank < int64_t(schedule.ranks.size()); ++rank) {
    starts.push_back(actions.size());
    for (const Action &action : schedule.ranks[rank]) {
      if (action.stage < 0 || action.stage >= graph.stages ||
          action.microbatch < 0 || action.microbatch >= microbatches)
        return Error{"action " + onRank(action, rank) +
                     " does not exist; there are " +
                     std::to_string(graph.stages) + " stages and " +
                     std::to_string(microbatches) + " microbatches"};
      for (ActionKind phase : kPhases) {
        if (!runsPhase(action.kind, phase))
          continue;
        size_t row = action.stage * kPhases.size() + phaseIndex(phase);
        size_t &entry = byPhase[row * microbatches + action.microbatch];
        if (entry != none)
          return Error{"schedule runs " + onRank(action, rank) +
                       " although it runs " +
                       onRank(actions[entry], ranks[entry])};
        entry = actions.size();
      }
      actions.push_back(action);
      ranks.push_back(rank);
    }
  }
  starts.push_back(actions.size());

  for (int64_t stage = 0; stage < graph.stages; ++stage)
    for (int64_t m = 0; m < microbatches; ++m)
      for (ActionKind phase : {ActionKind::Forward, ActionKind::InputGradient,
                               ActionKind::WeightGradient}) {
        bool wanted = phase == ActionKind::Forward || !graph.forwardOnly;
        size_t number = find({phase, stage}, m);
        if (wanted && number == none)
          return Error{"schedule lacks " + toString(Action{phase, stage, m})};
        if (!wanted && number != none)
          return Error{"schedule runs " +
                       onRank(actions[number], ranks[number]) +
                       " although the program has no backward"};
      }
  return {};
}

void Dependences::addWaits(const StageGraph &graph) {
  using enum ActionKind;
  waits.resize(actions.size());
  std::vector<std::vector<const StageEdge *>> into(graph.stages);
  std::vector<std::vector<const StageEdge *>> outOf(graph.stages);
  for (const StageEdge &edge : graph.edges) {
    into[edge.firstUse.stage].push_back(&edge);
    outOf[edge.producer.stage].push_back(&edge);
  }
  for (size_t number = 0; number < actions.size(); ++number) {
    const Action &action = actions[number];
    int64_t stage = action.stage, m = action.microbatch;
    auto wait = [&](StagePhase phase, int64_t microbatch,
                    const StageEdge *edge = nullptr, bool slot = false) {
      size_t on = find(phase, microbatch);
      if (on != size() && on != number)
        waits[number].push_back({on, edge, slot});
    };
    if (runsPhase(action.kind, InputGradient)) {
      wait({Forward, stage}, m);
      wait({Recompute, stage}, m);
    }
    if (action.kind == Recompute)
      wait({Forward, stage}, m);
    if (action.kind == WeightGradient)
      wait({InputGradient, stage}, m);
    for (int64_t last = 0; action.kind == Update && last < microbatches; ++last)
      wait({WeightGradient, stage}, last);
    for (const StageEdge *edge : into[stage])
      if (runsPhase(action.kind, edge->firstUse.phase))
        wait(edge->producer, m, edge);
    for (const StageEdge *edge : outOf[stage])
      if (runsPhase(action.kind, edge->producer.phase) && edge->depth > 0 &&
          m >= edge->depth)
        wait(edge->lastUse, m - edge->depth, edge, /*slot=*/true);
  }
}

Result<Dependences> Dependences::create(const Schedule &schedule,
                                        const StageGraph &graph) {
  Dependences result;
  if (Status status = result.index(schedule, graph); !status)
    return status.error();
  result.addWaits(graph);
  return result;
}

std::vector<size_t> Dependences::executionOrder() const {
  std::vector<size_t> order, next(starts.begin(), starts.end() - 1);
  std::vector<bool> done(size(), false);
  auto ready = [&](size_t number) {
    for (const Dependence &wait : waits[number])
      if (!done[wait.on])
        return false;
    return true;
  };
  // Every sweep lets each rank run as far as it can. The set of actions that
  // ever run does not depend on the order of the sweeps.
  for (bool progress = true; progress;) {
    progress = false;
    for (int64_t rank = 0; rank < numRanks(); ++rank)
      for (size_t &n = next[rank]; n < starts[rank + 1] && ready(n); ++n) {
        done[n] = true;
        order.push_back(n);
        progress = true;
      }
  }
  return order;
}

} // namespace stagewright
