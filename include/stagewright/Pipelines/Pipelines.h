//===- Pipelines.h - the passes in the order that works ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Orders of passes, one function each, shared by pp-compile, pp-opt and
// whoever embeds the compiler. No pass lives here.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PIPELINES_PIPELINES_H
#define STAGEWRIGHT_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassOptions.h"

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
  Option<bool> ranks{*this, "place-ranks", llvm::cl::init(true),
                     llvm::cl::desc("Also place the buffers of ranks, not only "
                                    "the temporaries of functions")};
};

/// Bodies from tensors to kernels and calls, workspaces placed: rank programs
/// stay as they are but for their workspace and memory table.
void buildBodyPipeline(mlir::OpPassManager &manager,
                       const HostPipelineOptions &options);

/// Rank programs and their bodies to the LLVM dialect; `buildBodyPipeline`
/// comes first.
void buildLLVMPipeline(mlir::OpPassManager &manager);

/// The same for a device: kernels lie in functions of their own.
void buildDeviceBodyPipeline(mlir::OpPassManager &manager,
                             const HostPipelineOptions &options);

/// Kernels to the gpu dialect, and rank programs to functions that launch them;
/// `buildDeviceBodyPipeline` comes first. With `tf32` the library may round the
/// operands of float32 contractions.
void buildDeviceCallPipeline(mlir::OpPassManager &manager, bool tf32);

/// Those functions to the LLVM dialect, once the kernels are compiled and gone.
void buildDeviceLLVMPipeline(mlir::OpPassManager &manager);

/// Registers `device-bodies` and `rank-to-device` (bodies, then calls).
void registerDevicePipelines();

/// Registers both: `host-bodies` and `rank-to-host` (bodies, then LLVM).
void registerHostPipelines();

/// Registers `stagewright-pipeline`, from a step to any level (Compile.h).
void registerCompilePipeline();

} // namespace stagewright

#endif // STAGEWRIGHT_PIPELINES_PIPELINES_H
