//===- MeasureWorkspaces.h - temporaries before planning --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planner has to know what the bodies' temporaries take, and that is known
// only once they are fused and have buffers. So the graph is lowered once on
// the side, as one stage, up to its workspaces; equal layers share their
// bodies.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_MEASUREWORKSPACES_H
#define STAGEWRIGHT_LIB_PIPELINES_MEASUREWORKSPACES_H

#include "mlir/Pass/PassManager.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Pipelines/Compile.h"

namespace stagewright {

/// Writes `workspace`, in bytes, to every node with a body in the one graph of
/// `module`, which has costs, and `levels` of computing again, with theirs, to
/// forwards. Does nothing where the smallest device holds the whole model with
/// all microbatches, so that no plan can fail by memory, unless a level is
/// asked for. `microbatches` is that of the module if it is absent.
/// `buildBodies` appends the passes that the target runs on bodies; `run` runs
/// passes on `module`.
mlir::LogicalResult
measureWorkspaces(mlir::ModuleOp module, const CompileOptions &options,
                  std::optional<int64_t> microbatches,
                  pipeline::RunPipeline run,
                  llvm::function_ref<void(mlir::OpPassManager &)> buildBodies);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_MEASUREWORKSPACES_H
