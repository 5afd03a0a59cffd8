//===- Neighbours.cpp - merging adjacent stages of a rank -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Neighbours.h"

namespace stagewright::search {

ScheduleProblem mergeNeighbours(const ScheduleProblem &problem) {
  ScheduleProblem merged = problem;
  merged.chunks = 1;
  merged.stages.assign(problem.ranks, {{}, {}, {}, 0, 0, 0});
  merged.hops.clear();
  for (int64_t s = 0; s < problem.numStages(); ++s) {
    const StageCosts &part = problem.stages[s];
    StageCosts &sum = merged.stages[s / problem.chunks];
    sum.forward += part.forward;
    sum.inputGradient += part.inputGradient;
    sum.weightGradient += part.weightGradient;
    sum.activation += part.activation;
    sum.kept += part.kept;
    sum.recomputeInput += part.recomputeInput;
    if ((s + 1) % problem.chunks == 0 && s + 1 < problem.numStages())
      merged.hops.push_back(problem.hops[s]);
  }
  return merged;
}

Schedule expandNeighbours(const Schedule &merged, int64_t chunks) {
  Schedule schedule{
      merged.kind, merged.stages * chunks, merged.microbatches, {}};
  for (const Order &order : merged.ranks) {
    Order &expanded = schedule.ranks.emplace_back();
    expanded.reserve(order.size() * chunks);
    for (const Action &action : order) {
      bool upwards = action.kind == ActionKind::Forward ||
                     action.kind == ActionKind::Recompute;
      for (int64_t i = 0; i < chunks; ++i) {
        Action part = action;
        part.stage = action.stage * chunks + (upwards ? i : chunks - 1 - i);
        part.paired = false;
        expanded.push_back(part);
      }
    }
  }
  return schedule;
}

} // namespace stagewright::search
