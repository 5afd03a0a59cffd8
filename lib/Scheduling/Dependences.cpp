//===- Dependences.cpp - the actions that each action waits for -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Dependences.h"
#include <map>
#include <utility>

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

/// For each microbatch, the one that used its slot of `edge` before; -1: none.
std::vector<int64_t> Dependences::slotsBefore(const StageEdge &edge) const {
  std::vector<int64_t> before(microbatches, -1);
  // The previous microbatches that are sent between the same two ranks.
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> routes;
  for (int64_t m = 0; m < microbatches; ++m) {
    size_t from = find(edge.producer, m), to = find(edge.lastUse, m);
    if (from == size() || to == size())
      continue;
    std::vector<int64_t> &route = routes[{ranks[from], ranks[to]}];
    if (int64_t(route.size()) >= edge.depth)
      before[m] = route[route.size() - edge.depth];
    route.push_back(m);
  }
  return before;
}

void Dependences::addWaits(const StageGraph &graph) {
  using enum ActionKind;
  std::vector<std::vector<const StageEdge *>> into(stages), outOf(stages);
  std::vector<std::vector<int64_t>> slots(graph.edges.size());
  for (const StageEdge &edge : graph.edges) {
    into[edge.firstUse.stage].push_back(&edge);
    if (edge.depth <= 0 || edge.depth >= microbatches)
      continue;
    outOf[edge.producer.stage].push_back(&edge);
    slots[&edge - graph.edges.data()] = slotsBefore(edge);
  }
  waits.reserve(3 * size());
  waitsFrom.resize(size() + 1);
  for (size_t number = 0; number < size(); ++number) {
    waitsFrom[number] = waits.size();
    const Action &action = actions[number];
    int64_t stage = action.stage, m = action.microbatch;
    auto wait = [&](StagePhase phase, int64_t microbatch,
                    const StageEdge *edge = nullptr, bool slot = false) {
      size_t on = find(phase, microbatch);
      if (on != size() && on != number)
        waits.push_back({on, edge, slot});
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
      if (runsPhase(action.kind, edge->producer.phase))
        if (int64_t old = slots[edge - graph.edges.data()][m]; old >= 0)
          wait(edge->lastUse, old, edge, /*slot=*/true);
  }
  waitsFrom[size()] = waits.size();
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
  constexpr size_t kNobody = size_t(-1);
  std::vector<size_t> order, next(starts.begin(), starts.end() - 1);
  order.reserve(size());
  std::vector<char> done(size(), false);
  // A blocked rank waits for one action; the ranks that wait for the same
  // action form a linked list.
  std::vector<size_t> firstWaiting(size(), kNobody);
  std::vector<size_t> nextWaiting(numRanks(), kNobody), awake;
  for (int64_t rank = numRanks(); rank-- > 0;)
    awake.push_back(rank);
  /// The first action that the block of `number` waits for; kNobody: none.
  auto missing = [&](size_t number) {
    for (size_t n = number; n < blockEnd(number); ++n)
      for (const Dependence &wait : of(n))
        if (!done[wait.on])
          return wait.on;
    return kNobody;
  };
  while (!awake.empty()) {
    size_t rank = awake.back();
    awake.pop_back();
    while (next[rank] < starts[rank + 1]) {
      size_t number = next[rank];
      if (size_t on = missing(number); on != kNobody) {
        nextWaiting[rank] = std::exchange(firstWaiting[on], rank);
        break;
      }
      for (; next[rank] < blockEnd(number); ++next[rank]) {
        done[next[rank]] = true;
        order.push_back(next[rank]);
        size_t waiting = std::exchange(firstWaiting[next[rank]], kNobody);
        for (; waiting != kNobody; waiting = nextWaiting[waiting])
          awake.push_back(waiting);
      }
    }
  }
  return order;
}

} // namespace stagewright
