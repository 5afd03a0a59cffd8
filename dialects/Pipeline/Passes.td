//===- Passes.td - passes over the pipeline dialect -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PIPELINE_PASSES_TD
#define STAGEWRIGHT_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def InferRoles : Pass<"pipeline-infer-roles", "::mlir::ModuleOp"> {
  let summary = "give every argument and result of @step its role and position";
  let description = [{
    **Why** The passes that follow read roles, never names or shapes.
    **Expects** A function `@step` with static shapes. With role attributes it is a training step as the importers
    write it; without any it is an inference graph.
    **Leaves** Every argument and result with `pipeline.role`, `pipeline.position` and `pipeline.name`; results with
    `pipeline.combine`; batch arguments with `pipeline.batch_dim`. The large dense constants of an inference graph
    have become arguments with role `parameter` that keep their data in `pipeline.value`.
    **Never** changes a role that is given.
  }];
  let options = [
    Option<"largeConstant", "large-constant", "int64_t", "1024",
           "Elements from which a dense constant of an inference graph is a parameter">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect"];
}

def Schedule : Pass<"pipeline-schedule", "::mlir::ModuleOp"> {
  let summary = "decide in which order every rank runs its actions";
  let description = [{
    **Why** The order of forwards and backwards decides idle time and memory. It is data of its own, so that it can be
    printed, edited and verified before anything is lowered.
    **Expects** A `pipeline.program` with one device per stage. Without one, `pipeline-partition` runs first.
    **Leaves** A `pipeline.schedule` behind the program, in place of an older one, verified: complete, each action
    after what it needs, no deadlock. Stage s runs on rank s.
    **Never** adds communication: that is what the lowering to rank programs makes explicit.
  }];
  let options = [
    Option<"kind", "kind", "std::string", "\"1f1b\"", "Generator of the order: gpipe or 1f1b">];
  let statistics = [Statistic<"numActions", "actions", "Actions in the schedules made">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect"];
}

#endif // STAGEWRIGHT_PIPELINE_PASSES_TD
