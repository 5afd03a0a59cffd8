//===- EnsureGraph.h - run the passes that another pass needs ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The base of passes that need the results of earlier ones. If a pass is given
// a module that was only imported, it first runs the passes that form the
// graph, or its schedule, so that every pass can run alone on a file:
//
//   if (failed(ensureGraph()))
//     return signalPassFailure();
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_ENSUREGRAPH_H
#define STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_ENSUREGRAPH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace stagewright::pipeline {

/// Runs a pipeline on the module; a pass supplies its own runPipeline.
using RunPipeline =
    llvm::function_ref<mlir::LogicalResult(mlir::OpPassManager &)>;

/// The function `@step` if pipeline-infer-roles has annotated it, that is if
/// all its arguments and results have positions; else null.
mlir::func::FuncOp findAnnotatedStep(mlir::ModuleOp module);

/// The place of the step, or of its graph; that of the module if it has none.
mlir::Location placeOfStep(mlir::ModuleOp module);

/// The base of passes that need the results of earlier ones, and run those that
/// are missing. In TableGen: StepPass.td.
class StepPass : public mlir::OperationPass<mlir::ModuleOp> {
protected:
  using OperationPass::OperationPass;

  /// Runs these passes on the module, in this order.
  template <typename... Passes> mlir::LogicalResult run(Passes... passes) {
    mlir::OpPassManager manager(mlir::ModuleOp::getOperationName());
    (manager.addPass(std::move(passes)), ...);
    return runPipeline(manager, getOperation());
  }

  /// The function `@step`; runs pipeline-infer-roles and pipeline-split-slices
  /// first if it is not annotated.
  mlir::FailureOr<mlir::func::FuncOp> ensureStep();

  /// Forms the graph of the module unless it has one: infers roles, splits
  /// slices, and forms the graph with `layers` as for pipeline-form-graph.
  mlir::LogicalResult ensureGraph(llvm::StringRef layers = "auto");

  /// Unless the module has a graph: ensureGraph, then merges backwards (unless
  /// `split`) and unifies bodies, as planners need.
  mlir::LogicalResult ensureUnifiedGraph(bool split = false,
                                         llvm::StringRef layers = "auto");

  /// Unless the module has a schedule: runs pipeline-schedule, which runs
  /// missing earlier passes in the same way.
  mlir::LogicalResult ensureSchedule();
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_ENSUREGRAPH_H
