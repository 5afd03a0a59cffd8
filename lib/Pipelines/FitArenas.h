//===- FitArenas.h - plans that fit by real arenas --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// pipeline-partition counts the bytes of a rank before it is lowered, up to a
// few percent too many. If replicas share samples and a device's memory is less
// than 1.05 times the count, this lowers the plan and checks the arenas. If
// pipeline-partition finds no plan, this takes its plan for slightly more
// memory. If the arenas do not fit, other shares are tried
// (Planning/ShareSearch.h).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_FITARENAS_H
#define STAGEWRIGHT_LIB_PIPELINES_FITARENAS_H

#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

namespace stagewright {

/// Runs pipeline-partition with `how` on `module`, by `run`, so that arenas fit
/// if replicas share samples. `buildRanks` appends the passes from a program to
/// arenas.
mlir::LogicalResult
partitionByArenas(mlir::ModuleOp module, pipeline::PartitionOptions how,
                  pipeline::RunPipeline run,
                  llvm::function_ref<void(mlir::OpPassManager &)> buildRanks);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_FITARENAS_H
