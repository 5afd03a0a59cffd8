//===- EnsureGraph.cpp - run earlier passes if needed ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

namespace stagewright::pipeline {

func::FuncOp findAnnotatedStep(ModuleOp module) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (!step || step.isDeclaration())
    return {};
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (!step.getArgAttr(i, PipelineDialect::kPosition))
      return {};
  for (unsigned i = 0; i < step.getNumResults(); ++i)
    if (!step.getResultAttr(i, PipelineDialect::kPosition))
      return {};
  return step;
}

Location placeOfStep(ModuleOp module) {
  Operation *step = module.lookupSymbol("step");
  return step ? step->getLoc() : module.getLoc();
}

FailureOr<func::FuncOp> StepPass::ensureStep() {
  if (func::FuncOp step = findAnnotatedStep(getOperation()))
    return step;
  if (failed(run(createInferRoles(), createSplitSlices())))
    return failure();
  return findAnnotatedStep(getOperation());
}

LogicalResult StepPass::ensureGraph(StringRef layers) {
  if (!getOperation().getOps<GraphOp>().empty())
    return success();
  FormGraphOptions options;
  options.layers = layers.str();
  return run(createInferRoles(), createSplitSlices(), createFormGraph(options));
}

LogicalResult StepPass::ensureUnifiedGraph(bool split, StringRef layers) {
  if (!getOperation().getOps<GraphOp>().empty())
    return success();
  if (failed(ensureGraph(layers)) ||
      (!split && failed(run(createMergeBackward()))))
    return failure();
  return run(createUnifyBodies());
}

LogicalResult StepPass::ensureSchedule() {
  return getOperation().getOps<ScheduleOp>().empty() ? run(createSchedule())
                                                     : success();
}

} // namespace stagewright::pipeline
