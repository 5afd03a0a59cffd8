//===- Pipelines.h - pass pipelines for host and devices --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pass pipelines, one function each, shared by pp-compile, pp-opt and programs
// that embed the compiler. No pass is defined here.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PIPELINES_PIPELINES_H
#define STAGEWRIGHT_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassOptions.h"
#include "stagewright/Pipelines/Compile.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace stagewright {

struct HostPipelineOptions : mlir::PassPipelineOptions<HostPipelineOptions> {
  Option<unsigned> maxOps{
      *this, "max-ops", llvm::cl::init(6),
      llvm::cl::desc("Max operations of an elementwise producer fused into "
                     "several consumers")};
  Option<bool> bytes{*this, "multiply-bytes", llvm::cl::init(false),
                     llvm::cl::desc("The GPU library multiplies 8-bit floats")};
  Option<bool> splitFloat32{
      *this, "split-float32", llvm::cl::init(false),
      llvm::cl::desc(
          "Compute float32 contractions as three contractions of TF32 parts")};
  Option<bool> ranks{*this, "place-ranks", llvm::cl::init(true),
                     llvm::cl::desc("Also place the buffers of ranks, not only "
                                    "the temporaries of functions")};
};

/// Lowers bodies from tensors to kernels and calls, and places workspaces. Of
/// rank programs it changes only the workspace, the memory table, and the work
/// on slots, which becomes kernels.
void buildBodyPipeline(mlir::OpPassManager &manager,
                       const HostPipelineOptions &options);

/// Lowers rank programs and their bodies to the LLVM dialect, after
/// `buildBodyPipeline`.
void buildLLVMPipeline(mlir::OpPassManager &manager);

/// `buildBodyPipeline` for a device: kernels are outlined to functions.
void buildDeviceBodyPipeline(mlir::OpPassManager &manager,
                             const HostPipelineOptions &options);

/// Lowers kernels to the gpu dialect, and rank programs to functions that
/// launch them, after `buildDeviceBodyPipeline`.
void buildDeviceCallPipeline(mlir::OpPassManager &manager,
                             Float32Products float32);

/// Lowers the functions of `buildDeviceCallPipeline` to the LLVM dialect. The
/// kernels must have been compiled and removed.
void buildDeviceLLVMPipeline(mlir::OpPassManager &manager);

/// Registers `device-bodies` and `rank-to-device` (bodies, then calls).
void registerDevicePipelines();

/// Registers `host-bodies` and `rank-to-host` (bodies, then LLVM).
void registerHostPipelines();

/// Registers `stagewright-pipeline`, from a step to any level (Compile.h).
void registerCompilePipeline();

} // namespace stagewright

#endif // STAGEWRIGHT_PIPELINES_PIPELINES_H
