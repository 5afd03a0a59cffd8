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

/// Calls `visit` once with every resource that block number `at` holds.
template <typename Visit>
void forEachResource(const PipelineEngine &engine, size_t at, Visit visit) {
  size_t microbatches = engine.numMicrobatches();
  const PipelineRow &row = engine.rows[at / microbatches];
  std::span<const uint32_t> lanes = engine.rows.list(row.lanes);
  uint32_t lane = lanes[at % microbatches % lanes.size()];
  visit(lane);
  std::span<const uint32_t> shared = engine.rows.list(row.shared);
  for (size_t number = 0; number < shared.size(); ++number)
    if (shared[number] != lane &&
        std::find(shared.begin(), shared.begin() + number, shared[number]) ==
            shared.begin() + number)
      visit(shared[number]);
}

/// Blocks that follow one another without a gap, from time 0 to `makespan`. If
/// several ended when a block started, an input is preferred, then the cap on
/// microbatches in flight, then a resource.
std::vector<CriticalBlock> findCriticalPath(const PipelineModel &model,
                                            const PipelineEngine &engine,
                                            Ticks makespan);

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_CRITICALPATH_H
