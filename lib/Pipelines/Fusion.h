//===- Fusion.h - passes on bodies for every target -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_FUSION_H
#define STAGEWRIGHT_LIB_PIPELINES_FUSION_H

#include "mlir/Pass/PassManager.h"
#include "stagewright/Pipelines/Pipelines.h"

namespace stagewright {

/// Adds passes on tensor bodies that raise contractions and convolutions and
/// fuse elementwise operations. With `keepTypes` contractions read narrow
/// types, as GPU libraries do.
void buildFusion(mlir::OpPassManager &body, const HostPipelineOptions &options,
                 bool keepTypes);

/// Adds a pass that does arithmetic on 8-bit floats in float32: targets have no
/// such arithmetic.
void widenBytes(mlir::OpPassManager &body);

/// Adds passes that bufferize bodies and simplify the result.
void buildBuffers(mlir::OpPassManager &manager);

/// Adds passes that place and size the workspaces of bodies, verify rank
/// programs and outline kernels. They must precede any conversion of buffers to
/// pointers: lifetimes are traced through views, not through integers. With
/// `fills` the runtime zeroes slots. Without `ranks`, only places workspaces.
void buildWorkspaces(mlir::OpPassManager &manager, bool ranks,
                     bool fills = false);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_FUSION_H
