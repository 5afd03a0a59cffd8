//===- CriticalPath.h - the critical path of a simulated step ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: follows the waits of a simulated step back from its
// end.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_CRITICALPATH_H
#define STAGEWRIGHT_SIMULATION_CRITICALPATH_H

#include "PipelineEngine.h"
#include <algorithm>

namespace stagewright {

/// Block number `at`, counted row by row in the engine's lists.
PipelineBlock blockAt(const PipelineModel &model, const PipelineEngine &engine,
                      size_t at);

/// When block number `at` frees `resource`, one of those that it holds.
Ticks releaseOf(const PipelineEngine &engine, size_t at, uint32_t resource);

/// Calls `visit` once with every resource that block number `at` holds.
template <typename Visit>
void forEachResource(const PipelineEngine &engine, size_t at, Visit visit) {
  size_t microbatches = engine.numMicrobatches();
  const PipelineRow &row = engine.rows[at / microbatches];
  std::span<const uint32_t> lanes = engine.rows.list(row.lanes);
  auto number = uint32_t(at % microbatches % lanes.size());
  uint32_t lane = lanes[number];
  visit(lane);
  std::span<const uint32_t> shared = engine.rows.shared(row, number);
  for (size_t i = 0; i < shared.size(); ++i)
    if (shared[i] != lane && std::find(shared.begin(), shared.begin() + i,
                                       shared[i]) == shared.begin() + i)
      visit(shared[i]);
}

/// Calls `visit(kind, number, stage, start, length)` with every all-reduce and
/// every tie (transfer of the gradient of a tied parameter) of a step; a length
/// of 0 means that there is none.
template <typename Visit>
void forEachCollective(const PipelineModel &model, const PipelineEngine &engine,
                       Visit visit) {
  for (size_t stage = 0; stage < model.stages.size(); ++stage)
    visit(BlockKind::AllReduce, stage, stage, engine.tailStarts[stage],
          engine.tailEnds[stage] - engine.tailStarts[stage]);
  for (size_t tie = 0; tie < model.ties.size(); ++tie)
    visit(BlockKind::Tie, tie, model.ties[tie].from,
          engine.stageEnds[model.ties[tie].from], engine.rows.ties[tie]);
}

/// Blocks that follow one another without a gap, from time 0 to `makespan`. If
/// several ended when a block started, an input is preferred, then the block
/// that freed the slot that it needs, then the cap on microbatches in flight,
/// then a resource.
std::vector<CriticalBlock> findCriticalPath(const PipelineModel &model,
                                            const PipelineEngine &engine,
                                            Ticks makespan);

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_CRITICALPATH_H
