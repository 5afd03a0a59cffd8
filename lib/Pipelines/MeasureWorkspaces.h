//===- MeasureWorkspaces.h - workspaces before planning ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planner needs the bytes of the temporaries of bodies, which are known only
// once these are fused and bufferized. So a copy of the graph is lowered as one
// stage, up to its workspaces, for each recomputation level. Equal layers share
// their bodies.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_MEASUREWORKSPACES_H
#define STAGEWRIGHT_LIB_PIPELINES_MEASUREWORKSPACES_H

#include "mlir/Pass/PassManager.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Pipelines/Compile.h"

namespace stagewright {

/// Writes `workspace`, in bytes, to every node with a body in the single graph
/// of `module`, which has costs, and recomputation `levels` with their
/// workspaces to forwards. Does nothing if nodes have workspaces already.
/// Unless recomputation or offloading is requested, it also does nothing if
/// every plan fits because the smallest device holds the whole model with all
/// microbatches. `microbatches`: by default the number that the module states.
/// `buildBodies` appends the passes that the target runs on bodies; `run` runs
/// passes on `module`.
mlir::LogicalResult
measureWorkspaces(mlir::ModuleOp module, const CompileOptions &options,
                  std::optional<int64_t> microbatches,
                  pipeline::RunPipeline run,
                  llvm::function_ref<void(mlir::OpPassManager &)> buildBodies);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_MEASUREWORKSPACES_H
