//===- DevicePipeline.cpp - rank programs to kernels of a device ----------===//
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
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "stagewright/Conversion/RankToHost/Passes.h"
#include "stagewright/Dialect/Rank/Transforms/Passes.h"
#include "stagewright/Pipelines/Pipelines.h"

namespace stagewright {

void buildDeviceBodyPipeline(OpPassManager &manager,
                             const HostPipelineOptions &options) {
  //===--------------------------------------------------------------------===//
  // Fusion as for the host, but contractions keep narrow element types, which
  // the libraries of the device support.
  //===--------------------------------------------------------------------===//
  {
    OpPassManager &body = manager.nest<func::FuncOp>();
    body.addPass(device::createDeviceMarkLoops());
    body.addPass(device::createDeviceSplitAttention());
    body.addPass(device::createDeviceReadScalars());
    buildFusion(body, options, /*keepTypes=*/true);
    body.addPass(device::createDeviceFinishContractions());
    body.addPass(createCanonicalizerPass());
    body.addPass(bodies::createBodyRaiseContractions(
        {/*keepTypes=*/true, options.bytes}));
    if (options.splitFloat32)
      body.addPass(device::createDeviceSplitFloat32());
    body.addPass(device::createDeviceArrangeOperands());
    body.addPass(device::createDeviceFindEpilogues());
    body.addPass(bodies::createBodyOrderLoops());
    body.addPass(device::createDeviceGroupKernels());
    body.addPass(bodies::createBodyPassDestinations());
  }

  //===--------------------------------------------------------------------===//
  // Buffers. Kernels are outlined before the workspace is planned, because
  // values in registers need no space there.
  //===--------------------------------------------------------------------===//
  buildBuffers(manager);
  {
    OpPassManager &body = manager.nest<func::FuncOp>();
    body.addPass(device::createDeviceUnrollLoops());
    body.addPass(createCanonicalizerPass());
    body.addPass(createCSEPass());
  }
  manager.addPass(device::createDeviceOutlineKernels());
  manager.addPass(device::createDeviceOutlineAlternatives());
  {
    OpPassManager &body = manager.nest<func::FuncOp>();
    body.addPass(createCanonicalizerPass());
    body.addPass(createCSEPass());
  }
  buildWorkspaces(manager, options.ranks, /*fills=*/true);
}

void buildDeviceCallPipeline(OpPassManager &manager, Float32Products float32) {
  {
    OpPassManager &body = manager.nest<func::FuncOp>();
    body.addPass(createLowerAffinePass()); // indices in kernels
    widenBytes(body);
    body.addPass(bodies::createBodyRelaxFloats());
    body.addPass(bodies::createBodyApproximateMath());
    body.addPass(createCanonicalizerPass());
    body.addPass(createCSEPass());
  }
  manager.addPass(device::createDeviceWriteKernels());
  manager.addPass(device::createDevicePassRank());
  manager.addPass(device::createDeviceCallAttention());
  manager.addPass(device::createDeviceCallConvolutions(
      {/*tf32=*/float32 == Float32Products::Tf32}));
  manager.addPass(device::createDeviceCallContractions(
      {/*tf32=*/float32 != Float32Products::Exact}));
  manager.addPass(host::createLowerRankToHost());
  manager.addPass(device::createDeviceLowerCalls());
}

void buildDeviceLLVMPipeline(OpPassManager &manager) {
  {
    OpPassManager &body = manager.nest<func::FuncOp>();
    body.addPass(memref::createExpandStridedMetadataPass());
    body.addPass(createLowerAffinePass());
  }
  manager.addPass(host::createConvertHostToLLVM());
  manager.addPass(host::createHostBFloat16AsWords());
}

void registerDevicePipelines() {
  PassPipelineRegistration<HostPipelineOptions>(
      "device-bodies", "stage functions from tensors to kernels and calls",
      buildDeviceBodyPipeline);
  PassPipelineRegistration<HostPipelineOptions>(
      "rank-to-device", "rank programs to host code that launches GPU kernels",
      [](OpPassManager &manager, const HostPipelineOptions &options) {
        buildDeviceBodyPipeline(manager, options);
        buildDeviceCallPipeline(manager, options.splitFloat32
                                             ? Float32Products::Tf32x3
                                             : Float32Products::Exact);
      });
}

} // namespace stagewright
