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
    **Expects** A function `@step` with static shapes; a module with a single public function of another name has that
    one renamed, with a remark. With role attributes it is a training step as the importers write it; without any it is
    an inference graph: every argument a batch, every result an output.
    **Leaves** Every argument and result with `pipeline.role`, `pipeline.position` and `pipeline.name`; results with
    `pipeline.combine`; batch arguments with `pipeline.batch_dim`. The large dense constants of an inference graph
    have become arguments with role `parameter` that keep their data in `pipeline.value`. Calls are inlined.
    **Never** changes a role that is given.
  }];
  let options = [
    Option<"largeConstant", "large-constant", "int64_t", "1024",
           "Elements from which a dense constant of an inference graph is a parameter">];
  let statistics = [Statistic<"numLifted", "lifted", "Constants that became parameters">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect"];
}

def SplitSlices : Pass<"pipeline-split-slices", "::mlir::ModuleOp"> {
  let summary = "make parameters that are stacked for a loop over layers one argument per layer";
  let description = [{
    **Why** A stack of layers' parameters is read by every layer; as one argument it would tie all stages together.
    **Expects** Roles. A parameter with `pipeline.slices = L` that is only read by static `tensor.extract_slice` of one
    slice along dimension 0 each, and whose gradient, if there is one, is a chain of `tensor.insert_slice` of one slice
    each over all of them.
    **Leaves** In its place L arguments without dimension 0, with `pipeline.slice` and the `pipeline.position` of the
    original; the gradient likewise as L results.
    **Never** splits a parameter that is read in any other way; it stays whole, with a remark.
  }];
  let statistics = [Statistic<"numSplit", "split", "Parameters that were split">,
                    Statistic<"numWhole", "whole", "Sliced parameters that had to stay whole">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::tensor::TensorDialect"];
}

def RaiseAttention : Pass<"pipeline-raise-attention", "::mlir::ModuleOp"> {
  let summary = "recognise attention, forward and backward, as one operation each";
  let description = [{
    **Why** Scores, queries times keys, are what limits the length of a sequence. As one operation attention keeps rows
    of numbers for its backward, and may be computed block by block.
    **Expects** `@step` with roles, before the graph is formed: here the backward still reads what the forward made.
    **Leaves** `pipeline.attention` and `pipeline.attention_gradient` where scores, a softmax over keys and a product with
    values stood, if scores take more than `score-bytes` and nothing else reads what is made of them. Found by following
    definitions; formulas are compared at random numbers, so that it does not matter how they are written, and a causal
    mask is proved. Queries may be grouped; a mask may select or be added; scores may be capped by a tanh, and weights
    dropped by a condition. Weights and scores are not rounded to 16 bits any more, as a kernel keeps them in float32.
    A remark where scores go into a softmax and yet stay an array, with the reason and the bytes.
    **Never** raises one of forward and backward without the other.
  }];
  let options = [
    Option<"scoreBytes", "score-bytes", "int64_t", "4194304",
           "Raise attention whose scores, of one microbatch in float32, take more">];
  let statistics = [Statistic<"numRaised", "raised", "Attentions">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::tensor::TensorDialect"];
}

def Shard : Pass<"pipeline-shard", "::mlir::ModuleOp"> {
  let summary = "split the layers of @step over shards: tensor parallelism";
  let description = [{
    **Why** A layer too large for a device, or one that is to take half the time, is worked on by several devices at once.
    **Expects** `@step` with roles; without them the passes that infer them run first.
    **Leaves** A `@step` that does the work of every shard by itself, on its parts of the parameters that `hints` or
    `pipeline.split_dim` split, with sums and joins of parts where an operation needs more than its shard has. Parts of a parameter, and of its
    gradient, are arguments and results of their own (`pipeline.slice`), and so are those of an optimizer's state. Locations name a layer for each level of the model and each
    shard, `h0.attn.t3.s1`: data crosses between shards from level to level only, so the layers of one level run side
    by side.
    **Never** changes a value but by the order in which a sum over a split dimension is added up.
  }];
  let options = [
    Option<"ways", "ways", "int64_t", "1", "Number of shards">,
    Option<"hints", "hints", "std::string", "\"\"",
           "How parameters are split, by name: GLOB=DIM, GLOB=DIM:CHUNKS where a dimension holds several arrays side by "
           "side, GLOB=whole, or GLOB=auto for what is fastest, with commas between; else as `pipeline.split_dim` says; "
           "where nothing says anything, auto">,
    Option<"cluster", "cluster", "std::string", "\"\"",
           "Devices and links that auto is for: a preset or a file; else those of the module, else of this host">,
    Option<"scatters", "sequence-parallel", "bool", "true",
           "Let each shard go on with its rows of large sums, up to the next contraction">];
  let statistics = [Statistic<"numSplit", "split", "Parameters split">,
                    Statistic<"numSums", "sums", "Values that are added up over the shards">,
                    Statistic<"numScatters", "scatters", "Sums of which each shard has its rows">,
                    Statistic<"numExchanges", "exchanges", "Values that go from one split to another">,
                    Statistic<"numJoins", "joins", "Values that are joined from their parts">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::arith::ArithDialect"];
}

def FormGraph : Pass<"pipeline-form-graph", "::mlir::ModuleOp"> {
  let summary = "cut @step into nodes, one per layer and phase";
  let description = [{
    **Why** Planning needs layers with edges, not thousands of operations.
    **Expects** `@step` with roles; without them `pipeline-infer-roles` and `pipeline-split-slices` run first. Every
    operation free of side effects.
    **Leaves** A `pipeline.graph @step` in place of the function, and a private function per node. Layers come from the
    scopes in locations, at the level at which the model repeats; where less than half of the contractions has any, from
    the modules that hold the parameters (`blocks/0` of `params/blocks/0/up/weight`), or else from the places where
    little data is alive. Scopes name layers and suggest cuts; the data decides: what cannot be
    ordered becomes one layer.
    F is what the loss and the outputs depend on, I what other layers wait for, W the rest. What a forward keeps for its
    backward is the cheapest choice between bytes and repeated elementwise work, at the speeds of the cluster, and of
    contractions whose result is many times larger than their operands; it stands on the graph as
    `pipeline.stash`, for people. With `stash=written` no contraction is repeated, and what lies in memory anyway is kept. Constants and short chains of cheap
    operations on arguments are copied into every node that reads them. A gradient that is a sum over layers is yielded
    in parts.
    **Never** changes a value: nodes run one after another compute what the function did, up to the order in which the
    parts of a gradient are summed.
  }];
  let options = [
    Option<"layers", "layers", "std::string", "\"auto\"",
           "Where layers come from: auto (scopes or modules of parameters, at the level at which the model repeats), "
           "flow (where little data is alive), "
           "a number of components of a scope, or a pattern such as transformer/h/*">,
    Option<"cluster", "cluster", "std::string", "\"\"",
           "Preset or file whose devices say what bytes and operations cost; else the module's, else as in `local`">,
    Option<"repeatRatio", "repeat-ratio", "int64_t", "4",
           "How many times larger than its operands the result of a contraction must be to be computed again rather "
           "than kept; 0: none is; with stash=least">,
    Option<"kept", "stash", "std::string", "\"least\"",
           "least: as few bytes as repeating cheap work leaves; written: also what forwards write to memory anyway, so "
           "that backwards repeat no contraction and write nothing a second time">];
  let statistics = [Statistic<"numLayers", "layers", "Layers formed">,
                    Statistic<"numNodes", "nodes", "Nodes formed">,
                    Statistic<"keptBytes", "kept-bytes", "Bytes that forwards keep for backwards">,
                    Statistic<"readBytes", "read-bytes", "Bytes of forward values that backwards read">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect"];
}

def MergeBackward : Pass<"pipeline-merge-backward", "::mlir::ModuleOp"> {
  let summary = "make I and W of every layer one node of phase B";
  let description = [{
    **Why** GPipe and 1F1B run the whole backward as one action; in one body, forward work is repeated once for both
    halves and nothing passes between them.
    **Expects** A graph; without one, the passes that form it run first.
    **Leaves** At most one backward node per layer, of phase B, in place of its first node.
    **Never** merges nodes without bodies, or nodes of different layers.
  }];
  let statistics = [Statistic<"numMerged", "merged", "Layers whose I and W became one">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect"];
}

def UnifyBodies : Pass<"pipeline-unify-bodies", "::mlir::ModuleOp"> {
  let summary = "let nodes with equal bodies share one function";
  let description = [{
    **Why** The layers of a deep model are alike; each distinct body is optimised and compiled once.
    **Expects** A graph; without one, the passes that form it run first.
    **Leaves** Nodes whose bodies are equal up to names and locations call the first of them; the others are gone.
    **Never** looks for equality beyond the order of operations: bodies that differ in order stay apart.
  }];
  let statistics = [Statistic<"numBodies", "bodies", "Distinct bodies left">,
                    Statistic<"numRemoved", "removed", "Bodies that were copies">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect"];
}

def InlineGraph : Pass<"pipeline-inline-graph", "::mlir::ModuleOp"> {
  let summary = "turn a graph back into the function that it was formed from";
  let description = [{
    **Why** To check a graph: what it computes can be run and compared with the step.
    **Expects** A graph whose nodes have bodies.
    **Leaves** A function `@step` with the arguments and results of the graph, nodes inlined in their order, the parts
    of a result summed. Bodies, programs and schedules are gone.
    **Never** joins slices: split parameters stay split.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect"];
}

def EstimateCost : Pass<"pipeline-estimate-cost", "::mlir::ModuleOp"> {
  let summary = "count what every node does and how long it takes";
  let description = [{
    **Why** A planner compares nodes by seconds; the counts say where the seconds come from.
    **Expects** A `pipeline.graph`. Without one, it is formed from `@step` first.
    **Leaves** Every node with a body with its `cost`: arithmetic counted from the body, bytes of its inputs and results,
    and seconds for each device class of the cluster by the roofline, with contractions at the class's rate for their
    element type. A profile, as `pp-run --profile` writes it,
    replaces the estimates of its class by what was measured; a time measured for a whole backward is divided among
    the nodes I and W by their arithmetic. The class `cuda`, which is what pp-run calls a GPU, is that of a cluster of one
    class. The cluster is the option, else the one in the module, else what the module
    attribute `pipeline.cluster` says; without any, nodes get no estimated seconds.
    **Never** changes a node without a body: its cost came with it.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"\"", "Preset (local:N) or .json file of the cluster">,
    Option<"profile", "profile", "std::string", "\"\"", "JSON file of measured seconds">];
  let statistics = [Statistic<"numNodes", "nodes", "Nodes that got a cost">,
                    Statistic<"numMeasured", "measured", "Nodes whose seconds come from the profile">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect"];
}

def OfferRecompute : Pass<"pipeline-offer-recompute", "::mlir::ModuleOp"> {
  let summary = "find what every layer could compute again instead of keeping it";
  let description = [{
    **Why** Memory and time trade against each other layer by layer: between keeping all that a backward reads and keeping
    the layer's inputs alone lie choices that save many bytes for few seconds. A planner takes what its devices need.
    **Expects** A graph with costs; without, the passes that make them run first. I and W together or apart, as the
    lowering will run them.
    **Leaves** `levels` on forward nodes: for each choice the forward that keeps less, and the body that computes the rest
    again before the backward. Choices are minimum cuts between what the forward has and what the backward reads, at
    several prices of a byte, by the speed of the slowest device; equal layers share them.
    **Never** changes what a node computes or keeps: `pipeline-apply-recompute` does, once a plan has chosen.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"\"", "Preset or file whose devices say what operations cost; else the module's">,
    Option<"mostLevels", "most-levels", "int64_t", "4", "Choices of a layer, at most">];
  let statistics = [Statistic<"numLayers", "layers", "Layers that got a choice">,
                    Statistic<"numLevels", "levels", "Distinct choices">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect"];
}

def ApplyRecompute : Pass<"pipeline-apply-recompute", "::mlir::ModuleOp"> {
  let summary = "let layers compute again what their plan does not keep";
  let description = [{
    **Why** After it the graph says what runs, and no later pass knows of levels.
    **Expects** A graph, and a program whose stages may have `levels`.
    **Leaves** In layers of a level above 0 a forward that keeps less, and a node `<layer>.again` before the backward, of
    its phase. No node offers levels any more, and bodies that nothing calls are gone.
    **Never** changes a value: what is computed again is computed by the same operations.
  }];
  let statistics = [Statistic<"numLayers", "layers", "Layers that compute something again">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect"];
}

def InferSliceable : Pass<"pipeline-infer-sliceable", "::mlir::ModuleOp"> {
  let summary = "find the layers that mix rows of the batch";
  let description = [{
    **Why** Replicas of a stage work on slices of every microbatch, unless one of its layers needs all rows at once:
    statistics of the batch, a capacity that rows share. Planner, simulator, memory plan and lowering use this one rule.
    **Expects** A graph; without one, the passes that form it run first.
    **Leaves** `sliceable = false` on the nodes of every layer that mixes rows, and in `mixes` the first reason. Followed
    are the rows of the batch arguments through all bodies: a sum over rows may be used linearly only, since every
    replica has a part of it. What no rule covers mixes rows.
    **Never** changes what a node computes, nor takes back `sliceable = false` that a profile states.
  }];
  let statistics = [Statistic<"numMixing", "mixing", "Layers that cannot be sliced">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect"];
}

def SplitReplicas : Pass<"pipeline-split-replicas", "::mlir::ModuleOp"> {
  let summary = "make every replica that works on a slice a stage of its own";
  let description = [{
    **Why** After it there are stages with one device each, and the lowering needs no rule for slices: what the replicas
    make of a gradient are parts that are summed once per step, like those of a parameter that several stages use.
    **Expects** Programs whose stages have `rows`, with their schedules; others are left as they are.
    **Leaves** Layers, nodes and a stage for each replica, with bodies for its samples. Producers cut what they send
    into slices, consumers join what they get, where neither has the samples of the other. Loss and gradients are
    yielded in parts. The first device's order is repeated for the other devices. Shares may be uneven: bodies keep
    dividing by the number of all rows, so parts have the right weight.
    **Never** slices a layer that mixes rows of the batch: an error names it.
  }];
  let statistics = [Statistic<"numStages", "stages", "Stages that were split">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect",
                           "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def Partition : Pass<"pipeline-partition", "::mlir::ModuleOp"> {
  let summary = "cut the graph into stages and place them on devices";
  let description = [{
    **Why** The slowest stage sets the pace of a pipeline, so the cut decides most of its speed.
    **Expects** A `pipeline.graph` with costs. Without a graph it is formed from `@step` first, without costs they are
    estimated.
    **Leaves** A `pipeline.cluster` and a `pipeline.program`: stages with their devices (several are replicas), the
    value of every boundary, and what the plan promises: the simulated time of a step, the schedule it is for, and lower
    bounds of it. An older program and its schedules are replaced. Cluster and number of microbatches come from the
    options, else from the module (a cluster operation, the attributes `pipeline.cluster` and `pipeline.microbatches`),
    else they are `local:2` and 8, which a remark says. `pp-plan` runs the same planners with more settings.

    A device may hold several stages, placed linear (neighbours together), loop (around and around), v (back and forth)
    or twin (stage s on device s and on its mirror image, half of the microbatches each). How many and how is searched
    too, with the schedule, unless `chunks`, `placement`, `stages` or `schedule` say it; twins only where they are
    asked for, since they hold all weights twice. Where a backward is one body, schedules that run its halves apart
    are left out (`pipeline-merge-backward`). Replicas of such stages take whole microbatches in turn.

    Replicas of a stage work on slices of every microbatch, `rows` samples each in proportion to the speed of their
    devices, unless one of its layers mixes rows of the batch (`pipeline-infer-sliceable`).
    **Never** changes the graph's nodes or what they compute.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"\"", "Preset (local:N) or .json file of the cluster">,
    Option<"stages", "stages", "int64_t", "-1", "Number of stages; -1: what the planner finds best">,
    Option<"maxReplicas", "max-replicas", "int64_t", "0", "Most devices of one stage; 0: no limit">,
    Option<"plan", "plan", "std::string", "\"\"",
           "Stages in ranges of layers with their replicas and, where not by speed, their samples, as in "
           "'[0,2)x2:3+1 [2,4)x1', instead of a planner's">,
    Option<"microbatches", "microbatches", "int64_t", "-1", "Number of microbatches; -1: what the module says">,
    Option<"layers", "layers", "std::string", "\"auto\"", "As pipeline-form-graph takes them, where there is no graph yet">,
    Option<"memory", "memory", "std::string", "\"\"", "Memory of every device, as in 2.5GiB, instead of the cluster's">,
    Option<"planner", "planner", "std::string", "\"auto\"", "Algorithm; pp-plan --list-planners lists them">,
    Option<"schedule", "schedule", "std::string", "\"auto\"",
           "Schedule that the plan is made for: its time, its microbatches in flight; auto: the fastest that fits">,
    Option<"chunks", "chunks", "int64_t", "0", "Stages of each device; 0: what is best">,
    Option<"placement", "placement", "std::string", "\"\"",
           "Which device holds which stages: linear, loop, v or twin; what is best unless given">,
    Option<"recompute", "recompute", "bool", "true",
           "Whether a stage short of memory may run its forward twice, or its layers compute again what they do not keep">,
    Option<"recomputeLevel", "recompute-level", "int64_t", "-1",
           "Level of every layer, of those that pipeline-offer-recompute offers, 0 where all is kept; -1: what fits">,
    Option<"offload", "offload", "std::string", "\"auto\"",
           "Whether what forwards keep waits for the backward in the memory of the host, of devices that say how fast they "
           "reach it: auto, where a stage does not fit and it costs the least time; none; all, where it saves memory">];
  let statistics = [Statistic<"numBoundaries", "boundaries", "Values that cross between stages">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect"];
}

def Schedule : Pass<"pipeline-schedule", "::mlir::ModuleOp"> {
  let summary = "decide in which order every rank runs its actions";
  let description = [{
    **Why** The order of forwards and backwards decides idle time and memory. It is data of its own, so that it can be
    printed, edited and verified before anything is lowered.
    **Expects** A `pipeline.program` whose stages lie as the schedule wants them; the first replicas do, where stages have
    several. Without one, `pipeline-partition` runs first, with the placement and the chunks that the schedule needs.
    **Leaves** A `pipeline.schedule` behind the program, in place of an older one, verified: complete, each action
    after what it needs and on a rank that has its stage, no deadlock. Rank r is the r-th device in the order of the
    stages' first devices; further replicas follow. Backwards of stages that recompute have an R before them. `auto`
    searches an order for the costs of the stages, their transfers and the memory of the devices; a remark says what it
    takes and what no order of this placement, and none at all, can beat.
    **Never** adds communication: that is what the lowering to rank programs makes explicit.
  }];
  let options = [
    Option<"kind", "kind", "std::string", "\"plan\"",
           "Generator of the order, such as gpipe or 1f1b; plan: the one that the plan was made for, else 1f1b; auto: "
           "search for the fastest order">,
    Option<"csv", "csv", "std::string", "\"\"", "Take the orders from a schedule file of PyTorch instead">,
    Option<"objective", "objective", "std::string", "\"makespan\"",
           "What auto minimises: makespan (a step ends together) or span (ranks enter the next step early)">,
    Option<"group", "group", "int64_t", "0",
           "Microbatches of a chunk before the next chunk's turn, in interleaved schedules; 0: their own choice">,
    Option<"split", "split", "bool", "true", "Whether auto may run the two halves of a backward apart">,
    Option<"recompute", "recompute", "bool", "false",
           "Whether auto may run forwards again where memory is short">,
    Option<"effort", "effort", "double", "1.0", "How hard auto tries; time grows about linearly">];
  let statistics = [Statistic<"numActions", "actions", "Actions in the schedules made">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect", "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect"];
}

def ScheduleCommunication : Pass<"pipeline-schedule-communication", "::mlir::ModuleOp"> {
  let summary = "make the messages of every schedule explicit";
  let description = [{
    **Why** Which rank sends what when, and over which communicator, decides whether ranks wait for each other without
    need. Here it can be read and checked; the lowering to rank programs makes messages of the orders by itself.
    **Expects** A `pipeline.schedule`.
    **Leaves** On every order `pipeline.communication`: its actions with sends, receives (posted as early as the
    buffers allow) and waits for sends (as late as they allow), in the text of PyTorch's schedules: `0SEND_F1`,
    `1RECV_F1`, `0WAIT_SEND_F1`. On the schedule `pipeline.channels`: a communicator for every two ranks and direction,
    with the round in which it is made; no rank makes two in one round. Proved: all ranks finish if a send ends only
    when its receive is posted and each channel keeps its order.
    **Never** changes an order of actions.
  }];
  let options = [
    Option<"receiveBuffers", "receive-buffers", "int64_t", "2",
           "Messages of one kind between two stages that a receiver has room for; more where the order needs more">,
    Option<"sendBuffers", "send-buffers", "int64_t", "2",
           "Messages of one kind that a sender keeps until they are received; more where the ranks would deadlock">];
  let statistics = [Statistic<"numMessages", "messages", "Messages of the schedules">,
                    Statistic<"numChannels", "channels", "Communicators of the schedules">];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect"];
}

def VerifySchedule : Pass<"pipeline-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "prove that every schedule finishes";
  let description = [{
    **Why** An order that was edited by hand, or made elsewhere, is run only if it verifies; this pass says so before
    anything is lowered. Every pass and tool that uses a schedule proves the same first.
    **Expects** Any number of `pipeline.schedule`.
    **Leaves** The module as it is. Proved of each schedule: complete, each action after what it needs, on a rank that has
    its stage, all ranks finish; of its messages, where `pipeline-schedule-communication` made them explicit: they
    belong to the orders, match at both ends, and finish although a send ends only when its receive is posted.
    **Never** changes anything.
  }];
  let dependentDialects = ["::stagewright::pipeline::PipelineDialect"];
}

#endif // STAGEWRIGHT_PIPELINE_PASSES_TD
