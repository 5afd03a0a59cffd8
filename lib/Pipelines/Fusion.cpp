//===- Fusion.cpp - passes on bodies for every target ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fusion.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "stagewright/Dialect/Rank/Transforms/Passes.h"

namespace stagewright {

void buildFusion(OpPassManager &body, const HostPipelineOptions &options,
                 bool keepTypes) {
  body.addPass(createConvertElementwiseToLinalgPass());
  body.addPass(createCanonicalizerPass());
  body.addPass(createCSEPass());
  // Contractions are raised before fusion, which would fuse elementwise
  // operations into them, and after it: moving reshapes can break one up.
  body.addPass(bodies::createBodyRaiseConvolutions({/*library=*/keepTypes}));
  bool bytes = keepTypes && options.bytes;
  body.addPass(bodies::createBodyRaiseContractions({keepTypes, bytes}));
  body.addPass(bodies::createBodySumSlices());
  body.addPass(bodies::createBodyFoldAccumulation());
  body.addPass(bodies::createBodyFuseElementwise(
      {options.maxOps, /*longestRow=*/keepTypes ? device::kLongestRow : 0}));
  body.addPass(createCanonicalizerPass());
  body.addPass(createCSEPass());
  body.addPass(bodies::createBodyRaiseContractions({keepTypes, bytes}));
  body.addPass(bodies::createBodyFoldAccumulation());
}

void widenBytes(OpPassManager &body) {
  arith::ArithEmulateUnsupportedFloatsOptions options;
  options.sourceTypeStrs = {"f8E4M3FN", "f8E5M2"};
  options.targetTypeStr = "f32";
  body.addPass(arith::createArithEmulateUnsupportedFloats(options));
}

void buildBuffers(OpPassManager &manager) {
  manager.addPass(bodies::createBodyBufferize());
  OpPassManager &body = manager.nest<func::FuncOp>();
  body.addPass(createCanonicalizerPass());
  body.addPass(createCSEPass());
  body.addPass(createCanonicalizerPass());
}

void buildWorkspaces(OpPassManager &manager, bool ranks, bool fills) {
  {
    OpPassManager &body = manager.nest<func::FuncOp>();
    body.addPass(bodies::createBodyPlanWorkspace());
    body.addPass(createCSEPass());
  }
  if (!ranks)
    return;
  manager.addPass(bodies::createBodySizeWorkspaces());
  manager.addPass(rank::createVerifyRankPrograms());
  bodies::BodyOutlineKernelsOptions outline;
  outline.fills = fills;
  manager.addPass(bodies::createBodyOutlineKernels(outline));
}

} // namespace stagewright
