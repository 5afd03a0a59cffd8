//===- LowerPipelineToRank.cpp - lower-pipeline-to-rank -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankPlan.h"
#include "mlir/Pass/PassManager.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

namespace stagewright {
#define GEN_PASS_DEF_LOWERPIPELINETORANK
#include "stagewright/Conversion/PipelineToRank/Passes.h.inc"

namespace {

struct LowerPipelineToRankPass
    : stagewright::impl::LowerPipelineToRankBase<LowerPipelineToRankPass> {
  using LowerPipelineToRankBase::LowerPipelineToRankBase;

  /// Turns replicas that run slices of microbatches into stages.
  LogicalResult splitReplicas(ModuleOp module) {
    bool slices = false;
    module.walk([&](pipeline::StageOp stage) {
      slices |= stage.getRows().has_value();
    });
    if (!slices)
      return success();
    return run(pipeline::createSplitReplicas(), pipeline::createUnifyBodies());
  }

  void runOnOperation() override {
    if (failed(ensureSchedule()) || failed(splitReplicas(getOperation())))
      return signalPassFailure();
    FailureOr<torank::Plan> plan = torank::readSchedule(getOperation());
    if (failed(plan) || failed(torank::placeValues(*plan, gathers)))
      return signalPassFailure();
    torank::chooseBuckets(*plan, bucketBytes);
    torank::placeInWorkspace(*plan);
    if (failed(torank::readUpdate(getOperation(), *plan)) ||
        failed(torank::planAverages(*plan)))
      return signalPassFailure();
    FailureOr<torank::EmitStatistics> done =
        torank::emitPrograms(getOperation(), *plan);
    if (failed(done))
      return signalPassFailure();
    numChannels += done->channels;
    numGathers += done->gathers;
    numStashes += done->stashes;
    numOffloaded += done->offloaded;
    numCopies += done->copies;
    numAccumulated += done->accumulated;
  }
};

} // namespace

} // namespace stagewright
