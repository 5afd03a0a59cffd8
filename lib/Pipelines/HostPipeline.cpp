//===- HostPipeline.cpp - rank programs to the LLVM dialect, for CPUs -----===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fusion.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/RankToHost/Passes.h"
#include "stagewright/Dialect/Rank/Transforms/Passes.h"
#include "stagewright/Pipelines/Pipelines.h"

namespace stagewright {

void buildBodyPipeline(OpPassManager &manager,
                       const HostPipelineOptions &options) {
  //===--------------------------------------------------------------------===//
  // Fusion, and loops in an order that suits CPUs.
  //===--------------------------------------------------------------------===//
  {
    OpPassManager &body = manager.nest<func::FuncOp>();
    buildFusion(body, options, /*keepTypes=*/false);
    body.addPass(bodies::createBodyFindTriangles());
    body.addPass(host::createHostGroupRows());
    body.addPass(bodies::createBodyOrderLoops());
    body.addPass(bodies::createBodyPassDestinations());
  }

  buildBuffers(manager);
  buildWorkspaces(manager, options.ranks);
}

void buildLLVMPipeline(OpPassManager &manager) {
  manager.addPass(host::createHostContractionsToCalls());
  {
    OpPassManager &body = manager.nest<func::FuncOp>();
    widenBytes(body);
    // Relax before expanding elementary functions: the flags must not change
    // how their approximations round.
    body.addPass(bodies::createBodyRelaxFloats());
    body.addPass(host::createHostMakeLoops());
    body.addPass(bodies::createBodyApproximateMath());
    body.addPass(host::createHostNarrowFloats());
    body.addPass(createCanonicalizerPass());
    body.addPass(createCSEPass());
  }
  manager.addPass(host::createHostParallelKernels());
  manager.addPass(host::createLowerRankToHost());
  {
    OpPassManager &body = manager.nest<func::FuncOp>();
    body.addPass(memref::createExpandStridedMetadataPass());
    body.addPass(createLowerAffinePass());
  }
  manager.addPass(host::createConvertHostToLLVM());
  manager.addPass(host::createHostBFloat16AsWords());
}

void registerHostPipelines() {
  PassPipelineRegistration<HostPipelineOptions>(
      "host-bodies", "stage functions from tensors to kernels and calls",
      buildBodyPipeline);
  PassPipelineRegistration<HostPipelineOptions>(
      "rank-to-host", "rank programs and stage functions to the LLVM dialect",
      [](OpPassManager &manager, const HostPipelineOptions &options) {
        buildBodyPipeline(manager, options);
        buildLLVMPipeline(manager);
      });
}

} // namespace stagewright
