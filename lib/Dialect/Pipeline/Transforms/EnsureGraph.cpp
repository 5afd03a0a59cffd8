//===- EnsureGraph.cpp - run earlier passes if needed ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

using namespace mlir;
using namespace stagewright::pipeline;

func::FuncOp stagewright::pipeline::findAnnotatedStep(ModuleOp module) {
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

FailureOr<func::FuncOp> stagewright::pipeline::ensureStep(ModuleOp module,
                                                          RunPipeline run) {
  if (func::FuncOp step = findAnnotatedStep(module))
    return step;
  OpPassManager manager(ModuleOp::getOperationName());
  manager.addPass(createInferRoles());
  manager.addPass(createSplitSlices());
  if (failed(run(manager)))
    return failure();
  return findAnnotatedStep(module);
}

LogicalResult stagewright::pipeline::ensureGraph(ModuleOp module,
                                                 RunPipeline run,
                                                 StringRef layers) {
  if (!module.getOps<GraphOp>().empty())
    return success();
  OpPassManager manager(ModuleOp::getOperationName());
  manager.addPass(createInferRoles());
  manager.addPass(createSplitSlices());
  FormGraphOptions options;
  options.layers = layers.str();
  manager.addPass(createFormGraph(options));
  return run(manager);
}

LogicalResult stagewright::pipeline::ensureUnifiedGraph(ModuleOp module,
                                                        RunPipeline run,
                                                        bool split,
                                                        StringRef layers) {
  if (!module.getOps<GraphOp>().empty())
    return success();
  if (failed(ensureGraph(module, run, layers)))
    return failure();
  OpPassManager manager(ModuleOp::getOperationName());
  if (!split)
    manager.addPass(createMergeBackward());
  manager.addPass(createUnifyBodies());
  return run(manager);
}

LogicalResult stagewright::pipeline::ensureSchedule(ModuleOp module,
                                                    RunPipeline run) {
  if (!module.getOps<ScheduleOp>().empty())
    return success();
  OpPassManager manager(ModuleOp::getOperationName());
  manager.addPass(createSchedule());
  return run(manager);
}
