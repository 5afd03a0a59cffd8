//===- EnsureGraph.h - what a later pass needs before it --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass given an imported module runs what forms the graph first, so that
// every pass can be run alone on a file. A pass calls it with its own
// runPipeline:
//
//   auto run = [&](OpPassManager &pm) { return runPipeline(pm, getOperation());
//   }; if (failed(ensureGraph(getOperation(), run)))
//     return signalPassFailure();
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_ENSUREGRAPH_H
#define STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_ENSUREGRAPH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

namespace stagewright::pipeline {

/// Runs a pipeline on the module; a pass passes its own runPipeline.
using RunPipeline =
    llvm::function_ref<mlir::LogicalResult(mlir::OpPassManager &)>;

/// The function `@step` if it has all that pipeline-infer-roles leaves, null
/// otherwise.
mlir::func::FuncOp findAnnotatedStep(mlir::ModuleOp module);

/// That function, with what pipeline-infer-roles and pipeline-split-slices
/// leave where it has not.
mlir::FailureOr<mlir::func::FuncOp> ensureStep(mlir::ModuleOp module,
                                               RunPipeline run);

/// Forms the graph of `module` unless it has one: roles, slices, graph with
/// `layers` as pipeline-form-graph takes them.
mlir::LogicalResult ensureGraph(mlir::ModuleOp module, RunPipeline run,
                                llvm::StringRef layers = "auto");

/// ensureGraph, then merges backwards (unless `split`) and unifies bodies: what
/// a planner wants.
mlir::LogicalResult ensureUnifiedGraph(mlir::ModuleOp module, RunPipeline run,
                                       bool split = false,
                                       llvm::StringRef layers = "auto");

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_ENSUREGRAPH_H
