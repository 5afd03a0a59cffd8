//===- ReadyFirst.cpp - lanes, slots and their marked graph ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/ReadyFirst.h"
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

namespace stagewright {

using enum ActionKind;

static int64_t priorityOf(ActionKind kind) {
  return kind == Backward || kind == InputGradient ? 0
         : kind == WeightGradient                  ? 2
                                                   : 1;
}

/// The actions of `order` with every B of a stage in `apart` as I and W.
static Order splitOrder(const Order &order, const std::set<int64_t> &apart,
                        int64_t stages) {
  Order split;
  for (Action action : order) {
    action.paired = false;
    if (action.kind != Backward || !apart.count(action.stage % stages)) {
      split.push_back(action);
      continue;
    }
    for (ActionKind half : {InputGradient, WeightGradient})
      split.push_back({half, action.stage, action.microbatch});
  }
  return split;
}

std::vector<Lane> lanesOf(const Order &order, int64_t stages) {
  std::set<int64_t> apart;
  for (const Action &action : order)
    if (action.kind == InputGradient || action.kind == WeightGradient)
      apart.insert(action.stage % stages);
  std::map<std::tuple<int64_t, int64_t, ActionKind>, Lane> lanes;
  std::map<std::pair<int64_t, int64_t>, Action> again; // by stage, microbatch
  int64_t place = -1;
  for (const Action &action : splitOrder(order, apart, stages)) {
    ++place;
    if (action.kind == Update)
      continue;
    if (action.kind == Recompute) {
      again[{action.stage, action.microbatch}] = action;
      continue;
    }
    int64_t stage = action.stage % stages, priority = priorityOf(action.kind);
    Lane &lane = lanes[{priority, stage, action.kind}];
    lane.kind = action.kind, lane.stage = stage, lane.priority = priority;
    Order &block = lane.blocks.emplace_back();
    auto first = again.find({action.stage, action.microbatch});
    if (priority == 0 && first != again.end())
      block.push_back(first->second);
    block.push_back(action);
    lane.places.push_back(place);
  }
  std::vector<Lane> list;
  for (auto &[key, lane] : lanes) {
    // The places are not sorted along: the lane's k-th block, whichever it is,
    // is due at the lane's k-th place in the order.
    std::stable_sort(lane.blocks.begin(), lane.blocks.end(),
                     [](const Order &a, const Order &b) {
                       return a.back().microbatch < b.back().microbatch;
                     });
    list.push_back(std::move(lane));
  }
  return list;
}

int64_t slotsOf(const std::vector<int64_t> &credits, StagePhase made,
                StagePhase last) {
  return slotsOf(credits, *std::min_element(credits.begin(), credits.end()),
                 made, last);
}

int64_t slotsOf(const std::vector<int64_t> &credits, int64_t fewest,
                StagePhase made, StagePhase last) {
  int64_t own = credits[last.stage];
  if (made.stage == last.stage)
    return made.phase == Recompute && last.phase != WeightGradient ? 1 : own;
  bool neighbours = std::abs(made.stage - last.stage) == 1;
  int64_t apart = std::abs(credits[made.stage] - own);
  int64_t underWay = std::max<int64_t>(neighbours ? (apart + 1) / 2 : apart, 1);
  underWay += fewest / 2;
  bool isUsed = last.phase == Forward || made.phase != Forward;
  return underWay + (isUsed && last.phase != WeightGradient ? 1 : own);
}

int64_t slotsOfTurns(int64_t slots, int64_t turns, int64_t microbatches) {
  int64_t share = (slots * turns + microbatches - 1) / microbatches;
  return std::clamp<int64_t>(share, 1, std::max<int64_t>(turns, 1));
}

StageGraph withCredits(StageGraph graph, const std::vector<int64_t> &credits) {
  for (StageEdge &edge : graph.edges)
    edge.depth = slotsOf(credits, edge.producer, edge.lastUse);
  for (int64_t s = 0; s < graph.stages && !graph.forwardOnly; ++s)
    graph.edges.push_back(
        {{Forward, s}, {InputGradient, s}, {WeightGradient, s}, credits[s]});
  return graph;
}

namespace {
/// The marked graph of a stage graph: the phases of every stage, the data and
/// the free slots of every edge.
class PhaseGraph {
public:
  explicit PhaseGraph(const StageGraph &graph) {
    auto pass = [&](StagePhase from, StagePhase to, int64_t tokens,
                    std::string name) {
      result.places.push_back({numberOf(from), numberOf(to), tokens});
      names.push_back(std::move(name));
    };
    for (int64_t s = 0; s < graph.stages && !graph.forwardOnly; ++s)
      pass({InputGradient, s}, {WeightGradient, s}, 0, "");
    for (const StageEdge &edge : graph.edges) {
      pass(edge.producer, edge.firstUse, 0, "the value of ");
      pass(edge.lastUse, edge.producer, edge.depth, "a free slot of ");
    }
    result.transitions = phases.size();
  }

  std::string describe(const std::vector<size_t> &cycle) const {
    std::string text;
    for (size_t place : cycle)
      text += (text.empty() ? "" : ", which waits for ") + names[place] +
              nameOf(phases[result.places[place].from]);
    return nameOf(phases[result.places[cycle.front()].to]) + " waits for " +
           text;
  }

  MarkedGraph result;

private:
  size_t numberOf(StagePhase phase) {
    auto [entry, isNew] = numbers.try_emplace(phase, phases.size());
    if (isNew)
      phases.push_back(phase);
    return entry->second;
  }
  static std::string nameOf(StagePhase phase) {
    return std::string(1, char(phase.phase)) + " of stage " +
           std::to_string(phase.stage);
  }

  std::vector<StagePhase> phases;
  std::vector<std::string> names; ///< By place.
  std::map<StagePhase, size_t> numbers;
};
} // namespace

Status checkCredits(const StageGraph &graph,
                    const std::vector<int64_t> &credits) {
  if (int64_t(credits.size()) != graph.stages)
    return Error{"credits are given for " + std::to_string(credits.size()) +
                 " stages, but there are " + std::to_string(graph.stages)};
  for (size_t s = 0; s < credits.size(); ++s)
    if (credits[s] < 1)
      return Error{"stage " + std::to_string(s) + " has " +
                   std::to_string(credits[s]) + " credits, expected 1 or more"};
  PhaseGraph phases(withCredits(graph, credits));
  std::vector<size_t> cycle = findEmptyCycle(phases.result);
  if (cycle.empty())
    return {};
  std::reverse(cycle.begin(), cycle.end());
  return Error{"the values of a cycle wait for each other, so its actions "
               "never run: " +
               phases.describe(cycle)};
}

} // namespace stagewright
