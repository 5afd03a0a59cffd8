//===- Passes.td - passes over the pipeline dialect -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PIPELINE_PASSES_TD
#define STAGEWRIGHT_PIPELINE_PASSES_TD

include "Pipeline/StepPass.td"

def InferRoles : StepPass<"pipeline-infer-roles"> {
  let summary = "give every argument and result of @step its role and position";
  let description = [{
    **Why** The later passes read roles, never names or shapes.
    **Expects** A function `@step` with static shapes. A single public function of another name is renamed, with a remark. With
    role attributes it is a training step as the importers write it; without any it is an inference graph: every argument a
    batch, or a constant if it is a scalar, and every result an output.
    **Leaves** Every argument and result with `pipeline.role`, `pipeline.position` and `pipeline.name`; results with
    `pipeline.combine`; batch arguments and joined outputs with `pipeline.batch_dim`. Large dense constants of floats in an
    inference graph, unless all elements are equal, become arguments with role `parameter` that keep their data in
    `pipeline.value`. Calls are inlined. Hints about values (`pipeline.split_hint`) become `pipeline.split_dim` of the
    parameters that are split with them.
    **Never** changes a given role.
  }];
  let options = [
    Option<"largeConstant", "large-constant", "int64_t", "1024",
           "Min elements of a dense constant of floats in an inference graph to become a parameter">];
  let statistics = [Statistic<"numLifted", "lifted", "Constants that became parameters">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect"];
}

def SplitSlices : StepPass<"pipeline-split-slices"> {
  let summary = "split parameters stacked for a loop over layers into one argument per layer";
  let description = [{
    **Why** Every layer reads the stack of parameters; as one argument it would tie all stages together.
    **Expects** Roles. A parameter with `pipeline.slices = L` that is only read by static `tensor.extract_slice` of one slice
    along dimension 0 each. Its gradient, if any, is a chain of `tensor.insert_slice` of one slice each that covers all slices.
    **Leaves** In its place L arguments without dimension 0, with `pipeline.slice` and the `pipeline.position` of the original;
    likewise L results for the gradient, and the same in `@update`.
    **Never** splits a parameter that is used in any other way; it stays whole, with a remark.
  }];
  let statistics = [Statistic<"numSplit", "split", "Parameters split">,
                    Statistic<"numWhole", "whole", "Sliced parameters left whole">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::tensor::TensorDialect"];
}

def Annotate : StepPass<"pipeline-annotate"> {
  let summary = "mark the parameters of layers that the user replicates or splits";
  let description = [{
    **Why** Some users know how layers are best placed; models from PyTorch and ONNX have no scopes for it.
    **Expects** `@step` with roles; without them the passes that infer them run first.
    **Leaves** `pipeline.annotation` on every parameter whose name, or a module that holds it, matches a glob. It means the same
    as the scopes `stagewright.replicate(n)` and `stagewright.split(n)` of a JAX model; `pipeline-form-graph` and
    `pipeline-shard` read both. The first glob that matches a parameter wins.
    **Never** changes an operation.
  }];
  let options = [
    Option<"annotate", "annotate", "std::string", "\"\"",
           "A file with lines of the form GLOB=replicate(N) or GLOB=split(N), or its text with commas between lines">];
  let statistics = [Statistic<"numAnnotated", "annotated", "Parameters annotated">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect"];
}

def RaiseAttention : StepPass<"pipeline-raise-attention"> {
  let summary = "recognise attention, forward and backward, as one operation each";
  let description = [{
    **Why** Scores, queries times keys, limit the length of a sequence. As one operation, attention keeps per-row statistics for
    its backward, and can be computed block by block.
    **Expects** `@step` with roles, before the graph is formed, so that the backward still reads the values of the forward.
    **Leaves** `pipeline.attention` and `pipeline.attention_gradient` in place of scores, a softmax over keys and a product with
    values, if the scores take more than `score-bytes` and nothing else reads the values computed from them. The pass follows
    definitions and compares formulas in a normal form, so that it does not matter how they are written; a causal mask is
    proved. Queries may be grouped; a mask may select or be added; scores may be capped by a tanh, and weights dropped by a
    condition. Weights and scores are no longer rounded to 16 bits, since a kernel keeps them in float32. If such large scores
    go into a softmax but stay an array, a remark gives the reason and the bytes.
    **Never** raises only the forward or only the backward of scores that both read.
  }];
  let options = [
    Option<"scoreBytes", "score-bytes", "int64_t", "4194304",
           "Raise attention if its scores, of one microbatch in float32, take more bytes than this">];
  let statistics = [Statistic<"numRaised", "raised", "Attentions raised">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::tensor::TensorDialect"];
}

def Shard : StepPass<"pipeline-shard"> {
  let summary = "split the layers of @step over shards (tensor parallelism)";
  let description = [{
    **Why** Several devices together compute a layer that is too large or too slow for one.
    **Expects** `@step` with roles; without them the passes that infer them run first.
    **Leaves** A `@step` with separate operations for every shard, on its parts of the parameters that are split by `hints`, by
    `pipeline.split_dim` or by the choice of the pass; the first shards have one unit more (by default an element) if the number
    of shards does not divide that of units. Parts are summed or joined where an operation needs more than its shard has. Each
    part of a parameter, of its gradient and of an optimizer's state is an argument or result of its own (`pipeline.slice`).
    Locations name one layer per level of the model and shard, `h0.attn.t3.s1`: data crosses between shards only from one level
    to another, so the layers of a level run in parallel. Of the parameters of layers with `split(n)` those are split that the
    pass chooses, at least one. Layers with `replicate(n)` keep their parameters whole, and each shard computes these layers for
    its part of the samples.
    With `grid` the shards form a grid of two axes: the layers are split over the first, then each shard's over the second, and
    a conversion changes one axis at a time. `hints` and `pipeline.split_dim` then have an entry for each axis, `*/w=0;1`.
    With `stages` the layers are cut into stages, each with its own number of shards, so that the slowest is as fast as possible.
    The levels of stage 1 and later are named `h1.t9.p1.s0`, and the first level of each only receives values of other stages.
    **Never** changes a value except through the order in which a sum over a split dimension is added, and, if that sum is then
    rounded, through rounding its parts instead.
  }];
  let options = [
    Option<"ways", "ways", "int64_t", "1", "Number of shards">,
    ListOption<"grid", "grid", "int64_t", "Numbers of shards along the two axes of a grid, instead of `ways`">,
    ListOption<"stages", "stages", "int64_t",
               "Numbers of shards of each stage of a pipeline, instead of `ways`; the pass then cuts the layers into stages">,
    Option<"devices", "stage-devices", "std::string", "\"\"",
           "With `stages`: the devices of each, such as 0-2;1,3; default: those of no two stages overlap">,
    Option<"layers", "layers", "std::string", "\"auto\"",
           "With `stages`: the layers between which a stage may end, as for pipeline-form-graph">,
    Option<"hints", "hints", "std::string", "\"\"",
           "How to split parameters, by name, comma-separated: GLOB=DIM; GLOB=DIM:CHUNKS if a dimension holds "
           "several arrays side by side; GLOB=DIM:CHUNKS:UNIT to keep UNIT consecutive elements together; GLOB=whole; "
           "GLOB=auto for the fastest choice; NAME=DIM of a batch or constant. A parameter without a hint is split by "
           "`pipeline.split_dim`, else whole, or auto if there are no hints and the model's file states no split. "
           "With `grid`: an entry DIM, DIM:CHUNKS, DIM:CHUNKS:UNIT or whole for each axis, separated by semicolons; "
           "default: `pipeline.split_dim`">,
    Option<"cluster", "cluster", "std::string", "\"\"",
           "Devices and links that auto optimises for: preset or file; default: the module's, else this host">,
    Option<"scatters", "sequence-parallel", "bool", "true",
           "Let each shard continue with its own rows of large sums, up to the next contraction">,
    Option<"cuts", "cuts", "bool", "false",
           "Cut levels of whole or scattered values into two layers, so that a stage can end where each shard sends only "
           "its own rows">];
  let statistics = [Statistic<"numSplit", "split", "Parameters split">,
                    Statistic<"numSums", "sums", "Values summed over the shards">,
                    Statistic<"numScatters", "scatters", "Sums of which each shard keeps its own rows">,
                    Statistic<"numExchanges", "exchanges", "Values that change from one split to another">,
                    Statistic<"numJoins", "joins", "Values joined from their parts">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::arith::ArithDialect"];
}

def PrintLayouts : StepPass<"pipeline-print-layouts"> {
  let summary = "print which dimensions are split together, and what prevents a split";
  let description = [{
    **Why** Shows what `pipeline-shard` can split before a plan is made, and which operation is in the way where it cannot.
    **Expects** `@step` with roles; without them the passes that infer them run first.
    **Leaves** Text on standard output, that of `pp-plan --explain-layouts`: the linkage classes (dimensions that can only be
    split together) by layer, equal layers once, each with the hints that split it or what prevents that.
    **Never** changes an operation.
  }];
  let options = [Option<"ways", "ways", "int64_t", "2", "Number of shards">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::arith::ArithDialect"];
}

def FormGraph : StepPass<"pipeline-form-graph"> {
  let summary = "split @step into nodes, one per layer and phase";
  let description = [{
    **Why** A planner needs layers and edges, not thousands of operations.
    **Expects** `@step` with roles; without them `pipeline-infer-roles` and `pipeline-split-slices` run first. Every operation
    free of side effects.
    **Leaves** A `pipeline.graph @step` in place of the function, and a private function per node. Layers come from the scopes
    in locations, at the level at which the model repeats. If less than half of the contractions have scopes, layers come from
    the modules that hold the parameters (`blocks/0` of `params/blocks/0/up/weight`), else from the places where little data is
    live. Scopes name layers and suggest cuts, but data dependences decide: a scope that data leaves and enters again becomes
    several layers, one for the first visit and one for each later visit with a contraction.
    Phase F is what the loss and the outputs depend on, I what other layers wait for, W the rest. What a forward keeps for its
    backward is the cheapest choice between bytes and recomputation, at the speeds of the cluster; only elementwise work and
    contractions whose result is many times larger than their operands are recomputed. `pipeline.stash` on the graph reports the
    choice, for information only. With `stash=written` no contraction is repeated, and values that are in memory anyway are
    kept. Constants and short chains of cheap operations on arguments are copied into every node that reads them. A gradient
    that is a sum over layers is yielded in parts. Annotated layers (`replicate(n)`, `split(n)`: scopes, or `pipeline-annotate`)
    are listed in `pipeline.annotations`; a layer is split where an annotation begins or ends.
    **Never** changes a value: the nodes, run one after another, compute what the function did, up to the order in which the
    parts of a gradient are summed.
  }];
  let options = [
    Option<"layers", "layers", "std::string", "\"auto\"",
           "Where layers come from: auto (scopes or modules of parameters, at the level at which the model "
           "repeats), flow (where little data is live), a number of components of a scope, or a pattern such as "
           "transformer/h/*">,
    Option<"cluster", "cluster", "std::string", "\"\"",
           "Preset or file that gives the cost of bytes and operations; default: the module's, else a byte costs as much as 13 "
           "scalar operations">,
    Option<"repeatRatio", "repeat-ratio", "int64_t", "4",
           "Recompute a contraction rather than keep its result if the result is at least this many times as large as "
           "its operands and recomputing is cheap enough; 0: never; only with stash=least">,
    Option<"kept", "stash", "std::string", "\"least\"",
           "least: min bytes that cheap recomputation allows; written: also keep what forwards write to memory "
           "anyway, so that backwards repeat no contraction and write nothing a second time">];
  let statistics = [Statistic<"numLayers", "layers", "Layers formed">,
                    Statistic<"numNodes", "nodes", "Nodes formed">,
                    Statistic<"keptBytes", "kept-bytes", "Bytes that forwards keep for backwards">,
                    Statistic<"readBytes", "read-bytes", "Bytes of forward values that backwards read">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect"];
}

def MergeBackward : StepPass<"pipeline-merge-backward"> {
  let summary = "merge I and W of every layer into one node of phase B";
  let description = [{
    **Why** GPipe and 1F1B run the whole backward as one action. In one body, forward work is repeated only once for both
    halves, and no value passes between them.
    **Expects** A graph; without one, the passes that form it run first.
    **Leaves** At most one backward node per layer, of phase B, at the position of the layer's first backward node.
    **Never** merges nodes without bodies, or nodes of different layers.
  }];
  let statistics = [Statistic<"numMerged", "merged", "Layers whose I, W or both became one node of phase B">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect"];
}

def UnifyBodies : StepPass<"pipeline-unify-bodies"> {
  let summary = "let nodes with equal bodies share one function";
  let description = [{
    **Why** The layers of a deep model are alike; each distinct body is optimised and compiled once.
    **Expects** A graph; without one, the passes that form it run first.
    **Leaves** Nodes whose bodies are equal up to names and locations call the first of these bodies; the others are erased.
    **Never** reorders operations to find equality: bodies that differ in order stay separate.
  }];
  let statistics = [Statistic<"numBodies", "bodies", "Distinct bodies left">,
                    Statistic<"numRemoved", "removed", "Duplicate bodies removed">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect"];
}

def InlineGraph : Pass<"pipeline-inline-graph", "::mlir::ModuleOp"> {
  let summary = "turn a graph back into the function that it was formed from";
  let description = [{
    **Why** To check a graph: the function can be run and compared with the original step.
    **Expects** A graph whose nodes have bodies.
    **Leaves** A function `@step` with the arguments and results of the graph, nodes inlined in order, parts of a result summed.
    Bodies, programs and schedules are erased.
    **Never** joins slices: split parameters stay split.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect"];
}

def EstimateCost : StepPass<"pipeline-estimate-cost"> {
  let summary = "count the work of every node and estimate its time";
  let description = [{
    **Why** A planner compares nodes by seconds; the counts explain the seconds.
    **Expects** A `pipeline.graph`. Without one, it is formed from `@step` first.
    **Leaves** Every node with a body with its `cost`: arithmetic counted from the body, bytes of its inputs and results, and
    seconds for each device class of the cluster by the roofline model, with contractions at the class's rate for their element
    type. A profile, as `pp-run --profile` writes it, replaces the estimates of its class by measurements; the measured time of
    a whole backward is divided between the nodes I and W by their arithmetic. If the cluster has a single device class, a
    profile of class `cuda`, pp-run's name for a GPU, applies to it. The cluster is that of the option, else the one in the
    module, else that of the module attribute `pipeline.cluster`; without any, nodes get no estimated seconds.
    **Never** changes the counts of a node without a body: they are given, and seconds that it lacks are estimated from them.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"\"", "Preset (local:N) or .json file of the cluster">,
    Option<"profile", "profile", "std::string", "\"\"", "JSON file of measured seconds">];
  let statistics = [Statistic<"numNodes", "nodes", "Nodes that got a cost">,
                    Statistic<"numMeasured", "measured", "Nodes whose seconds come from the profile">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect"];
}

def OfferRecompute : StepPass<"pipeline-offer-recompute"> {
  let summary = "find what every layer could recompute instead of keeping it";
  let description = [{
    **Why** Memory and time can be traded layer by layer: between keeping all values that a backward reads and keeping only the
    layer's inputs there are choices that save many bytes for few seconds. The planner selects what its devices need.
    **Expects** A graph with costs; without, the passes that make them run first. I and W merged or separate, as the lowering
    will run them.
    **Leaves** `levels` on forward nodes: for each choice a forward that keeps less, and a body that recomputes the rest before
    the backward. Choices are minimum cuts between what the forward has and what the backward reads, for several prices of a
    byte, at the speed of the slowest device; equal layers share them.
    **Never** changes what a node computes or keeps: `pipeline-apply-recompute` does, once a plan has chosen.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"\"",
           "Preset or file that gives the cost of operations; default: the module's">,
    Option<"maxLevels", "max-levels", "int64_t", "4", "Max choices per layer">];
  let statistics = [Statistic<"numLayers", "layers", "Layers with at least one choice">,
                    Statistic<"numLevels", "levels", "Distinct choices">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect"];
}

def ApplyRecompute : Pass<"pipeline-apply-recompute", "::mlir::ModuleOp"> {
  let summary = "let layers recompute what their plan does not keep";
  let description = [{
    **Why** Afterwards the graph contains exactly what runs, and no later pass needs to handle levels.
    **Expects** A graph, and a program whose stages may have `levels`.
    **Leaves** In layers of a level above 0 a forward that keeps less, and a node `<layer>.again`, of the backward's phase,
    before the backward. No node offers levels any more, and bodies without callers are erased.
    **Never** changes a value: recomputation uses the same operations.
  }];
  let statistics = [Statistic<"numLayers", "layers", "Layers that recompute something">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect"];
}

def RepeatLayers : Pass<"pipeline-repeat-layers", "::mlir::ModuleOp"> {
  let summary = "let layers keep only their inputs, and repeat their forwards before their backwards";
  let description = [{
    **Why** Layers that are split over devices exchange values, so one of them cannot be recomputed alone, as
    `pipeline-offer-recompute` does. Repeated together, with these exchanges, they keep only what other layers give them.
    **Expects** A graph whose nodes have bodies; in `layers`, ranges of consecutive layers that repeat together.
    **Leaves** Behind each range a layer `<layer>.again` for each of its layers, in reverse order. It has a node of the
    backward, with the part of the layer's forward that backwards of the range need. In the order of backwards, from the last
    layer of the graph to the first, these nodes come before the backwards of the range, and they pass values from layer to
    layer as gradients are passed: schedules, messages and memory need no new rule. Forwards return only what is still used.
    Nodes whose body changed have no cost; their workspace is at most that of the old body plus the results that the new one
    does not return. The layers offer no levels of recomputation.
    **Never** changes a value: what is repeated are the same operations, random masks included. A layer of which no backward of
    the range needs anything, not even through another repeated forward, gets no node.
  }];
  let options = [
    ListOption<"layers", "layers", "std::string", "Ranges of layers, such as 0-3,4-7">];
  let statistics = [Statistic<"numRepeated", "repeated", "Forwards that run again">,
                    Statistic<"numDropped", "dropped", "Results that forwards no longer return">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect"];
}

def SendOnce : Pass<"pipeline-send-once", "::mlir::ModuleOp"> {
  let summary = "send a value once to devices on which several stages read it";
  let description = [{
    **Why** A residual connection is read by several levels of a layer that is split over shards, each a stage of its own.
    **Expects** A program without schedule, after `pipeline-apply-recompute`. Programs without shards stay as they are: their
    stages may run in another order than that of the layers.
    **Leaves** If several stages on the same devices read a value of other devices, only the first of them receives it. Its node
    returns the value as well, and the others read that result. Nodes of phase W pass on no value, since a schedule may delay
    them. Replicas that work on slices stay as they are. Results that only copy a value of a stage on the same devices are
    removed: `pipeline-shard` adds such copies where a stage may begin.
    **Never** changes a value, or the order of stages.
  }];
  let statistics = [Statistic<"numRelayed", "relayed", "Values that a stage passes on to others of its devices">,
                    Statistic<"numRemoved", "removed", "Copies of values of the same devices">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect"];
}

def InferSliceable : StepPass<"pipeline-infer-sliceable"> {
  let summary = "find the layers that mix rows of the batch";
  let description = [{
    **Why** Replicas of a stage work on slices of every microbatch, unless one of its layers needs all rows at once, for example
    for batch statistics or a capacity that rows share. Planner, simulator, memory plan and lowering use this one rule.
    **Expects** A graph; without one, the passes that form it run first.
    **Leaves** `sliceable = false` on the nodes of every layer that mixes rows, and the first reason in `mixes`. The pass
    follows the rows of the batch arguments through all bodies. A sum over rows may only be used linearly, since every replica
    has a part of it. An operation that no rule covers counts as mixing rows.
    **Never** changes what a node computes, or removes `sliceable = false` set by a profile.
  }];
  let statistics = [Statistic<"numMixing", "mixing", "Layers that cannot be sliced">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect"];
}

def SplitReplicas : Pass<"pipeline-split-replicas", "::mlir::ModuleOp"> {
  let summary = "make every replica that works on a slice a separate stage";
  let description = [{
    **Why** Afterwards no stage has `rows`, and the lowering needs no rule for slices: the replicas' contributions to a gradient
    are parts that are summed once per step, like those of a parameter that several stages use.
    **Expects** Programs whose stages have `rows`, with their schedules; others are left as they are.
    **Leaves** Layers, nodes and a stage for each replica, with bodies for its samples. Between stages with different samples,
    producers slice what they send and consumers join what they get. Loss and gradients are yielded in parts. The other devices
    get the order of the first. Shares may be uneven: bodies still divide by the number of all rows, so parts have the right
    weight.
    **Never** slices a layer that mixes rows of the batch: an error names the layer.
  }];
  let statistics = [Statistic<"numStages", "stages", "Stages split">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect",
                           "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def Partition : StepPass<"pipeline-partition"> {
  let summary = "cut the graph into stages and place them on devices";
  let description = [{
    **Why** The slowest stage limits the throughput of a pipeline, so the cut decides most of its speed.
    **Expects** A `pipeline.graph` with costs. Without a graph it is formed from `@step` first; without costs they are
    estimated.
    **Leaves** A `pipeline.cluster` and a `pipeline.program`: stages with their devices (several are replicas), the value of
    every boundary, the simulated time of a step, the schedule that the plan is made for, and lower bounds on the time. An older
    program and its schedules are replaced. Cluster and number of microbatches come from the options, else from the module (a
    cluster operation, the attributes `pipeline.cluster` and `pipeline.microbatches`), else they are `local:2` and 8, with a
    remark. `pp-plan` runs the same planners with more settings.

    A device may hold several stages, with one of these placements: linear (consecutive stages together), loop (round-robin), v
    (back and forth) or twin (stage s on device s and on its mirror image, half of the microbatches each). The number of stages,
    the placement and the schedule are searched together, unless `chunks`, `placement`, `stages` or `schedule` set them; twins
    only on request, since they hold all weights twice. If a backward is one body, schedules that run its halves apart are left
    out (`pipeline-merge-backward`). Where a device holds several stages, their replicas take whole microbatches in turn.

    Replicas of a stage work on slices of every microbatch, `rows` samples each in proportion to the speed of their devices,
    unless one of its layers mixes rows of the batch (`pipeline-infer-sliceable`).

    Consecutive layers with one annotation `replicate(n)` (`pipeline.annotations` of the graph) are one stage with n replicas; the
    planner finds the other stages.
    **Never** changes what the nodes of the graph compute.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"\"", "Preset (local:N) or .json file of the cluster">,
    Option<"stages", "stages", "int64_t", "-1", "Number of stages; -1: the planner's choice">,
    Option<"maxReplicas", "max-replicas", "int64_t", "0", "Max devices per stage; 0: no limit">,
    Option<"plan", "plan", "std::string", "\"\"",
           "Stages to use instead of a planner's, as ranges of layers with their replicas and, if not by speed, "
           "samples per replica: '[0,2)x2:3+1 [2,4)x1'">,
    Option<"microbatches", "microbatches", "int64_t", "-1", "Number of microbatches; -1: that of the module">,
    Option<"layers", "layers", "std::string", "\"auto\"", "As in pipeline-form-graph, if there is no graph yet">,
    Option<"memory", "memory", "std::string", "\"\"", "Memory per device, such as 2.5GiB; default: the cluster's">,
    Option<"planner", "planner", "std::string", "\"auto\"", "Planning algorithm; pp-plan --list-planners lists them">,
    Option<"schedule", "schedule", "std::string", "\"auto\"",
           "Schedule that the plan is made for (its time, its microbatches in flight); auto: the fastest that fits">,
    Option<"chunks", "chunks", "int64_t", "0", "Stages per device; 0: the best number">,
    Option<"placement", "placement", "std::string", "\"\"",
           "Placement of stages on devices: linear, loop, v or twin; default: the best">,
    Option<"recompute", "recompute", "bool", "true",
           "Allow a stage short of memory to run its forward twice, or its layers to recompute what they do not "
           "keep">,
    Option<"recomputeLevel", "recompute-level", "int64_t", "-1",
           "Recompute level of every layer, as offered by pipeline-offer-recompute; 0: keep all; -1: what fits">,
    Option<"offload", "offload", "std::string", "\"auto\"",
           "Offload stashes to host memory until the backward, on devices with a given rate to the host: auto, if a "
           "stage does not fit and offloading costs the least time; none; all, where it saves memory">];
  let statistics = [Statistic<"numBoundaries", "boundaries", "Values that cross between stages">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect"];
}

def Schedule : StepPass<"pipeline-schedule"> {
  let summary = "choose the order in which every rank runs its actions";
  let description = [{
    **Why** The order of forwards and backwards decides idle time and memory. As IR of its own it can be printed, edited and
    verified before anything is lowered.
    **Expects** A `pipeline.program` whose stages are placed as the schedule requires; where stages have several replicas, this
    applies to the first ones. Without a program, `pipeline-partition` runs first, without replicas, and with the placement and
    the chunks that the schedule needs.
    **Leaves** A `pipeline.schedule` after the program, in place of an older one, verified: complete, each action after what it
    needs and on a rank that has its stage, no deadlock. Rank r is the r-th device in the order of the stages' first devices;
    the other devices of replicas that take microbatches in turn follow. Those of replicas that work on slices get their orders
    from `pipeline-split-replicas`. Backwards of stages that recompute have an R before them. `auto` searches for an order from
    the costs of the stages, their transfers and the memory of the devices; a remark gives its time and lower bounds for any
    order with this placement.
    **Never** adds communication: the lowering to rank programs makes it explicit.
  }];
  let options = [
    Option<"kind", "kind", "std::string", "\"plan\"",
           "Generator of the order, such as gpipe or 1f1b; plan: the one that the plan was made for, else 1f1b; auto: "
           "search for the fastest order">,
    Option<"csv", "csv", "std::string", "\"\"", "Read the orders from this PyTorch schedule file instead">,
    Option<"objective", "objective", "std::string", "\"makespan\"",
           "What auto minimises: makespan (all ranks end a step together) or span (a rank may start the next step "
           "early)">,
    Option<"group", "group", "int64_t", "0",
           "Consecutive microbatches of a chunk in interleaved schedules; 0: the schedule's default">,
    Option<"split", "split", "bool", "true", "Allow auto to run the two halves of a backward apart">,
    Option<"recompute", "recompute", "bool", "false", "Allow auto to recompute forwards where memory is short">,
    Option<"effort", "effort", "double", "1.0", "Search effort of auto; time grows about linearly">];
  let statistics = [Statistic<"numActions", "actions", "Actions in the generated schedules">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect"];
}

def AssignCredits : StepPass<"pipeline-assign-credits"> {
  let summary = "let ranks run actions as they become ready, within credits";
  let description = [{
    **Why** A rank that follows an order waits for the next action even if a later one could run. If actions take longer at
    random, that time adds up. A rank that runs what is ready needs a limit of the microbatches in flight instead of an order.
    **Expects** A `pipeline.schedule`; without one, `pipeline-schedule` runs first.
    **Leaves** `credits` of each stage in the schedule: as many microbatches as pass through the stage in the time of a round
    trip to the last stage and back (Little's law); up to 8 more if the simulated step needs them, for example if a round trip
    is not a multiple of the time of a microbatch; and fewer where the memory of a device is short. `spare` adds more, so that a
    stage has work while another is late. If memory is short, a remark states the credits and the predicted increase of the
    step. Without costs all stages count as equal, and memory is not considered. It is proved that ready-first execution with
    these credits never deadlocks.
    **Never** changes which rank runs an action, nor the order of microbatches within one kind and stage.
  }];
  let options = [
    ListOption<"credits", "credits", "int64_t",
               "Credits of each stage, in place of those that the pass computes">,
    Option<"spare", "spare", "int64_t", "0",
           "More credits for each stage, for actions whose times vary">];
  let statistics = [Statistic<"numCredits", "credits", "Sum of the credits of all stages">,
                    Statistic<"numCapped", "credits-capped", "Credits that memory does not allow">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DelayAveraging : StepPass<"pipeline-delay-averaging"> {
  let summary = "let replicas update their own parameters, and average them every few steps, some steps later";
  let description = [{
    **Why** A sum of gradients that takes longer than a backward delays every step. Replicas that train on their own for `every`
    steps send a fraction of the bytes, and an average that is merged `delay` steps after it began is summed while those steps
    run (DaSGD, Zhou et al. 2020). The result differs from synchronous training, so only the user can choose this.
    **Expects** A `pipeline.program` with a stage that has replicas, and an `@update`. Without a `pipeline.schedule`,
    `pipeline-schedule` runs first.
    **Leaves** `averaging` on the program, with the predicted seconds of an average and of a step; `delay=auto` is the number of
    steps that an average takes, rounded up. `merge=convex` keeps `xi` of a replica's own parameters and takes the rest from the
    average, so the `delay` steps that a replica makes while the average is summed count only with the weight `xi`;
    `merge=corrected` adds the average minus the parameters that the replica had when the average began. `delay=0` is local SGD.
    With `every=1 delay=0` the program is left as it is: gradients are summed in every step, exactly.
    **Never** averages an optimizer's state: it stays each replica's own.
  }];
  let options = [
    Option<"every", "every", "int64_t", "4", "Steps from one average to the next">,
    Option<"delay", "delay", "std::string", "\"auto\"",
           "Steps from the start of an average until it is merged, 0 to `every`; auto: by the predicted times">,
    Option<"xi", "xi", "double", "0.25", "Share of its own parameters that a replica keeps in a convex merge, 0 to 1">,
    Option<"merge", "merge", "std::string", "\"corrected\"", "convex or corrected">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FlowAnalysis : Pass<"pipeline-flow-analysis", "::mlir::ModuleOp"> {
  let summary = "find what the stages of every program send between hosts";
  let description = [{
    **Why** Transfers between hosts share NICs. How many connections a NIC has decides what rate each can be guaranteed.
    **Expects** A `pipeline.program`, and costs on the nodes of its graph. The placement twin is not supported.
    **Leaves** On every program `pipeline.flows`: for each pair of stages and of their hosts, and each direction, a connection
    with its bytes per step; `pipeline.nics`: connections out of and into each host (a node of the cluster); and
    `pipeline.degree`: the max of these. Replicas that take turns have one connection for each turn.
    **Never** changes the plan.
  }];
  let statistics = [Statistic<"numConnections", "connections", "Connections between hosts">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect"];
}

def ScheduleFlows : Pass<"pipeline-schedule-flows", "::mlir::ModuleOp"> {
  let summary = "give transfers between hosts rates, and prove how long a step takes at most";
  let description = [{
    **Why** With a guaranteed rate for each connection, a step takes at most D times the critical path of its schedule, where D
    is the max number of connections of a NIC, whatever the other transfers do. See docs/placement.md.
    **Expects** A `pipeline.schedule` in which every stage runs its microbatches in order.
    **Leaves** On the program what `pipeline-flow-analysis` leaves, with the guaranteed rate of each connection. On every
    schedule `pipeline.flow_schedule`: the policy, the degree, the critical path with every transfer alone on its NICs, the time
    of the busiest NIC, and the simulated makespan, in seconds; a remark shows them. `pipeline-verify-schedule` computes them
    again from the module.
    **Never** changes an order of actions, and does not pace the transport.
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"oes\"",
           "oes (online execution scheduling): guaranteed rates, and the remaining bandwidth by max-min water-filling; "
           "guaranteed: guaranteed rates only; fair: max-min; fifo: the first transfer takes all, without a guarantee">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect"];
}

def VerifySchedule : Pass<"pipeline-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "prove that every schedule is complete and free of deadlocks";
  let description = [{
    **Why** A schedule that was edited by hand or made elsewhere runs only if it verifies; this pass reports errors before
    anything is lowered. Every pass and tool that uses a schedule runs the same checks first.
    **Expects** Any number of `pipeline.schedule`.
    **Leaves** The module as it is. The pass proves of each schedule that it is complete, that each action runs after the
    actions it needs and on a rank that has its stage, and that all ranks finish. If `pipeline-schedule-flows` left a
    certificate, its numbers must also be those of the schedule.
    **Never** changes anything.
  }];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect"];
}

#endif // STAGEWRIGHT_PIPELINE_PASSES_TD
