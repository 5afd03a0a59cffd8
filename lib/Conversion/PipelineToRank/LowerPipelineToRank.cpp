//===- LowerPipelineToRank.cpp - lower-pipeline-to-rank -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"

namespace stagewright {
#define GEN_PASS_DEF_LOWERPIPELINETORANK
#include "stagewright/Conversion/PipelineToRank/Passes.h.inc"
} // namespace stagewright

using namespace mlir;
using namespace stagewright;

namespace {

struct LowerPipelineToRankPass
    : stagewright::impl::LowerPipelineToRankBase<LowerPipelineToRankPass> {
  using LowerPipelineToRankBase::LowerPipelineToRankBase;

  void runOnOperation() override {
    FailureOr<torank::Plan> plan = torank::readSchedule(getOperation());
    if (failed(plan) || failed(torank::placeValues(*plan)))
      return signalPassFailure();
    torank::placeInWorkspace(*plan);
    FailureOr<torank::EmitStatistics> done =
        torank::emitPrograms(getOperation(), *plan);
    if (failed(done))
      return signalPassFailure();
    numChannels += done->channels;
    numStashes += done->stashes;
    numCopies += done->copies;
    numAccumulated += done->accumulated;
  }
};

} // namespace
