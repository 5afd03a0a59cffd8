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

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_FUSION_H
