//===- FormGraph.cpp - pipeline-form-graph --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

using namespace mlir;

namespace stagewright::pipeline {
#define GEN_PASS_DEF_FORMGRAPH
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {
struct FormGraphPass : impl::FormGraphBase<FormGraphPass> {
  using FormGraphBase::FormGraphBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module.getOps<GraphOp>().empty())
      return;
    if (scopeDepth < 0) {
      emitError(module.getLoc())
          << "scope-depth must be at least 0, got " << scopeDepth.getValue();
      return signalPassFailure();
    }
    func::FuncOp step = findAnnotatedStep(module);
    if (!step) {
      OpPassManager manager(ModuleOp::getOperationName());
      manager.addPass(createInferRoles());
      manager.addPass(createSplitSlices());
      if (failed(runPipeline(manager, module)))
        return signalPassFailure();
      step = findAnnotatedStep(module);
    }
    if (failed(form(step)))
      return signalPassFailure();
  }

  LogicalResult form(func::FuncOp step) {
    FailureOr<StepGraph> graph = StepGraph::create(step);
    if (failed(graph))
      return failure();
    Layers layers = assignLayers(*graph, {scopeDepth, useScopes});
    std::vector<ResultPart> parts = splitResults(*graph, layers);
    SmallVector<Value> roots;
    for (const ResultPart &part : parts)
      roots.push_back(part.value);
    Stash stash = chooseStash(*graph, layers, roots);
    FailureOr<GraphOp> result =
        GraphBuilder(*graph, layers, stash, parts).build();
    if (failed(result))
      return failure();
    step.erase();

    numLayers += layers.size();
    numNodes += llvm::range_size(result->getBody().front().getOps<NodeOp>());
    keptBytes += stash.keptBytes;
    readBytes += stash.readBytes;
    return success();
  }
};
} // namespace
} // namespace stagewright::pipeline
