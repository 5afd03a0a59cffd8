//===- Fusion.h - what bodies for any target go through first ---*- C++ -*-===//
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

/// Contractions, convolutions and fused elementwise operations of bodies on
/// tensors. With `keepTypes` contractions read narrow types, as a device's
/// library does.
void buildFusion(mlir::OpPassManager &body, const HostPipelineOptions &options,
                 bool keepTypes);

/// Arithmetic on floats of 8 bits, which nothing computes in, in float32.
void widenBytes(mlir::OpPassManager &body);

/// Bodies on tensors become bodies on buffers, tidied up.
void buildBuffers(mlir::OpPassManager &manager);

/// Workspaces of bodies placed and sized, rank programs verified, and what
/// these do to slots as kernels. Comes before any pointer is made of a buffer:
/// lifetimes follow views, not integers. With `fills` the runtime fills slots
/// with zeros. Without `ranks` only the bodies' workspaces are placed.
void buildWorkspaces(mlir::OpPassManager &manager, bool ranks,
                     bool fills = false);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_FUSION_H
