//===- InitAllPasses.h - registers all passes -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_INITALLPASSES_H
#define STAGEWRIGHT_INITALLPASSES_H

#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/PipelineToRank/Passes.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "stagewright/Conversion/RankToHost/Passes.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "stagewright/Dialect/Rank/Transforms/Passes.h"
#include "stagewright/Pipelines/Pipelines.h"
#include "stagewright/Planning/Baselines/Baselines.h"

namespace stagewright {

/// Registers every pass and pass pipeline of Stagewright under its flag, and
/// the baseline planners.
inline void registerAllPasses() {
  pipeline::registerPipelinePasses();
  rank::registerRankPasses();
  registerPipelineToRankPasses();
  bodies::registerBodiesToKernelsPasses();
  device::registerRankToDevicePasses();
  host::registerRankToHostPasses();
  registerHostPipelines();
  registerDevicePipelines();
  registerCompilePipeline();
  registerBaselines();
}

} // namespace stagewright

#endif // STAGEWRIGHT_INITALLPASSES_H
