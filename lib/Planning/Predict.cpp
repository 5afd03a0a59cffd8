//===- Predict.cpp - simulated time of a plan -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Predict.h"
#include "stagewright/Scheduling/Generators.h"
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace stagewright {

/// Seconds of `bytes` from the device of stage `from` to that of stage `to`.
static Seconds hopTime(const Cluster &cluster, Bytes bytes, int64_t from,
                       int64_t to) {
  if (const Link *link = cluster.find(from, to))
    return link->latency + bytes / link->bandwidth;
  Seconds time;
  for (int64_t s = std::min(from, to); s < std::max(from, to); ++s) {
    const Link *link = cluster.find(s, s + 1);
    time += link->latency + bytes / link->bandwidth;
  }
  return time;
}

Result<Seconds> predictTime(const Problem &problem, const Plan &plan) {
  int64_t stages = plan.stages.size();
  std::vector<int64_t> stageOf(problem.layers.size());
  StepTimes times;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    times.stages.push_back(plan.stages[s].times);
    for (int64_t layer : plan.stages[s].layers)
      stageOf[layer] = s;
  }
  // (producer, first use) -> bytes: what leaves and arrives together.
  std::map<std::pair<StagePhase, StagePhase>, Bytes> hops;
  for (const Value &value : problem.values) {
    StagePhase producer = {value.producer.phase, stageOf[value.producer.layer]};
    std::map<int64_t, ActionKind> firstUse; // By receiving stage.
    for (const LayerPhase &use : value.uses) {
      int64_t stage = stageOf[use.layer];
      if (stage == producer.stage)
        continue;
      auto [entry, isNew] = firstUse.try_emplace(stage, use.phase);
      // The letters F, I, W are in the order in which a stage runs them.
      entry->second = std::min(entry->second, use.phase);
    }
    for (auto [stage, phase] : firstUse)
      hops[{producer, {phase, stage}}] += value.bytes;
  }
  StageGraph graph{stages, problem.forwardOnly, {}};
  for (const auto &[ends, bytes] : hops) {
    const auto &[producer, use] = ends;
    graph.edges.push_back({producer, use, use});
    times.hops.push_back(
        hopTime(problem.cluster, bytes, producer.stage, use.stage));
  }
  Result<Generator> generator = findGenerator(toString(problem.orders.front()));
  if (!generator)
    return generator.error();
  Schedule schedule =
      generator->generate({stages, problem.microbatches, problem.forwardOnly});
  Result<Timeline> timeline = simulate(schedule, graph, times);
  if (!timeline)
    return timeline.error();
  return timeline->makespan;
}

} // namespace stagewright
