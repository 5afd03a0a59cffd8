//===- PipelineAttributes.td - actions, costs, plans ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PIPELINE_ATTRIBUTES_TD
#define STAGEWRIGHT_PIPELINE_ATTRIBUTES_TD

include "Pipeline/ActionKind.td"
include "Pipeline/PipelineDialect.td"

def Pipeline_PhaseAttr : Stagewright_ActionKindAttr<PipelineDialect, "Phase", "phase"> {
  let summary = "Part of a training step";
}

def Pipeline_ActionsAttr : AttrDef<PipelineDialect, "Actions"> {
  let mnemonic = "actions";
  let summary = "The actions of a rank in the order in which it runs them";
  let description = [{
    Each is stage, kind and microbatch, as in PyTorch's schedule files: `2F0` is the forward of microbatch 0 on stage 2.
    Kinds are F, B, I, W, R and U; an update has no microbatch. A forward and a backward of another microbatch or stage
    that may overlap are a pair in parentheses.

    ```mlir
    #pipeline.actions<0F0, 0F1, (3F1, 0B0), 0B1, 0U>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::stagewright::Action">:$actions);
  let hasCustomAssemblyFormat = 1;
  let returnType = "::llvm::ArrayRef<::stagewright::Action>";
  let convertFromStorage = "$_self.getActions()";
  let constBuilderCall = "::stagewright::pipeline::ActionsAttr::get($_builder.getContext(), $0)";
}

def Pipeline_CostAttr : AttrDef<PipelineDialect, "Cost"> {
  let mnemonic = "cost";
  let summary = "The cost of running a node once";
  let description = [{
    Floating-point operations, bytes read and written by the node as a whole (its inputs and results, each counted
    once), and seconds per device class where a cluster or a profile is known. Fields that are 0 are not printed. Seconds
    of the class `profiled` hold for every class that has none, divided by the speed of its devices.

    ```mlir
    #pipeline.cost<flops = 8192, read = 3072, written = 2048, seconds = {"cpu-core" = 1.2e-06 : f64}>
    ```
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$flops, DefaultValuedParameter<"int64_t", "0">:$read,
                        DefaultValuedParameter<"int64_t", "0">:$written,
                        OptionalParameter<"::mlir::DictionaryAttr">:$seconds);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Pipeline_AlternativeAttr : AttrDef<PipelineDialect, "Alternative"> {
  let mnemonic = "alternative";
  let summary = "Another way to run a layer";
  let description = [{
    A layer split over the `ways` devices of a tensor-parallel group, or one that recomputes its activations. `seconds`
    are those of forward and backward of one sample; `parameters` the bytes on each device; `per_sample` the bytes for each
    sample in flight and `fixed` the bytes independent of samples; `sync_in` and `sync_out` the additional bytes of edges
    from and to other layers (by their numbers) that cross stages. Numbers are finite and not negative. Only the planner
    `piper` chooses among alternatives.

    ```mlir
    #pipeline.alternative<name = "split", ways = 2, seconds = 1.0e-3 : f64, parameters = 4096, per_sample = 1.0e6 : f64,
                          fixed = 8.0e3 : f64, sync_in = {"0" = 2.0e6 : f64}>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$name, DefaultValuedParameter<"int64_t", "1">:$ways,
                        OptionalParameter<"::mlir::BoolAttr">:$recompute, "::mlir::FloatAttr":$seconds,
                        DefaultValuedParameter<"int64_t", "0">:$parameters,
                        OptionalParameter<"::mlir::FloatAttr">:$per_sample,
                        OptionalParameter<"::mlir::FloatAttr">:$fixed,
                        OptionalParameter<"::mlir::DictionaryAttr">:$sync_in,
                        OptionalParameter<"::mlir::DictionaryAttr">:$sync_out);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Pipeline_LevelAttr : AttrDef<PipelineDialect, "Level"> {
  let mnemonic = "level";
  let summary = "A recomputation level: a layer keeps less for its backward and recomputes more";
  let description = [{
    The forward node is replaced by one that calls `forward`. Its results are `results`: numbers of results of the original
    node, or -1 for a value that only this level keeps. A node that calls `again`, right before the backward of the layer,
    computes the results `remade` of the original node. Its operands are `inputs`: numbers of results of `forward`, or
    -1 - i for operand i of the forward node. `cost` is that of `again`. `workspaces` are the bytes of the temporaries of
    `forward` and of `again`, `sample_workspaces` the same for one sample.

    ```mlir
    #pipeline.level<forward = @layer0.F.less1, again = @layer0.again1, results = [0, 2, -1], inputs = [2, -1],
                    remade = [1], cost = <flops = 8192, read = 3072, written = 2048>>
    ```
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$forward, "::mlir::FlatSymbolRefAttr":$again,
                        "::mlir::DenseI64ArrayAttr":$results, "::mlir::DenseI64ArrayAttr":$inputs,
                        "::mlir::DenseI64ArrayAttr":$remade, OptionalParameter<"::stagewright::pipeline::CostAttr">:$cost,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$workspaces,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$sample_workspaces);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Pipeline_PlanAttr : AttrDef<PipelineDialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "The predicted time of a plan, and its bounds";
  let description = [{
    The predicted time of one step in seconds, a lower bound of it for every plan of the same family on the cluster, and the
    planner's name. `plan_bound` is a lower bound for this plan in any order, `schedule` the schedule that the time was
    predicted for.

    ```mlir
    #pipeline.plan<time = 4.12e-05 : f64, bound = 3.89e-05 : f64, planner = "spp", plan_bound = 4.0e-05 : f64, schedule = "1f1b">
    ```
  }];
  let parameters = (ins "::mlir::FloatAttr":$time, "::mlir::FloatAttr":$bound, "::mlir::StringAttr":$planner,
                        OptionalParameter<"::mlir::FloatAttr">:$plan_bound,
                        OptionalParameter<"::mlir::StringAttr">:$schedule);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Pipeline_AveragingAttr : AttrDef<PipelineDialect, "Averaging"> {
  let mnemonic = "averaging";
  let summary = "How replicas that update their own parameters average them";
  let description = [{
    At the end of every `every`-th step the average of the replicas' parameters begins; `delay` steps later, at most `every`, each
    replica merges it. `convex`: its parameters x become `xi` x + (1 - `xi`) times the average. `corrected`: x + average - what x
    was when the average began. `all_reduce` and `step` are the predicted seconds of an average and of a step without it.

    ```mlir
    #pipeline.averaging<every = 4, delay = 1, xi = 2.5e-01 : f64, merge = "convex">
    ```
  }];
  let parameters = (ins "int64_t":$every, "int64_t":$delay, "::mlir::FloatAttr":$xi, "::mlir::StringAttr":$merge,
                        OptionalParameter<"::mlir::FloatAttr">:$all_reduce, OptionalParameter<"::mlir::FloatAttr">:$step);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isCorrected() const { return getMerge().getValue() == "corrected"; }
    /// The share of the steps that take effect: a convex merge discards 1 - xi of the `delay` steps since the average began.
    double progress() const;
  }];
}

#endif // STAGEWRIGHT_PIPELINE_ATTRIBUTES_TD
