//===- LayerIndex.h - values and residents by layer -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the planners: the values and residents of a problem by layer, so
// that the cost of a stage is computed without a pass over the whole problem.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_LAYERINDEX_H
#define STAGEWRIGHT_LIB_PLANNING_LAYERINDEX_H

#include "stagewright/Planning/Evaluate.h"

namespace stagewright {

struct LayerIndex {
  explicit LayerIndex(const Problem &problem);

  /// By layer, increasing: the values that it produces, or uses at some level,
  /// and the residents that it holds.
  std::vector<std::vector<size_t>> values, residents;
};

/// Memory of a stage of all layers, which keeps everything.
StageMemory memoryOfAll(const Problem &problem);

/// Max bytes that a single layer holds without any microbatch. Every stage with
/// that layer holds at least as many.
int64_t mostOfOneLayer(const Problem &problem);

/// stageMemory() in time linear in the values and residents of the stage.
StageMemory stageMemory(const Problem &problem, const LayerIndex &index,
                        const StagePlan &stage);

/// Bytes of stage `stage` of `plan` on a device under `order`, by the device's
/// share of each microbatch. They do not fall as the share grows.
class SharedBytes {
public:
  SharedBytes(const Problem &problem, const Plan &plan, size_t stage,
              ExecutionOrder order, StageMemory memory);

  Bytes of(double share) const {
    return memory.with(inFlight, microbatches, share, routes, atOnce);
  }

private:
  StageMemory memory;
  ByLife inFlight;
  int64_t microbatches, routes, atOnce;
};

/// memoryOf() in time linear in the values and residents of the stage.
std::vector<Bytes> memoryOf(const Problem &problem, const LayerIndex &index,
                            const Plan &plan, size_t stage,
                            ExecutionOrder order);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_LAYERINDEX_H
