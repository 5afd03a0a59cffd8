//===- PipelineOps.td - graph, cluster, program, schedule -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PIPELINE_OPS_TD
#define STAGEWRIGHT_PIPELINE_OPS_TD

include "Pipeline/PipelineAttentionOps.td"
include "Pipeline/PipelineAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

def Pipeline_GraphOp : Pipeline_Op<"graph", [
    FunctionOpInterface, IsolatedFromAbove, OpAsmOpInterface, SingleBlock]> {
  let summary = "a step as nodes, one per layer and phase";
  let description = [{
    Arguments and results are those of the step, with their role attributes. `layers` names the layers in the order
    of the chain that a planner cuts.

    Example:
    ```mlir
    pipeline.graph @step(%w: tensor<8x4xf32> {pipeline.role = "parameter"}, %x: tensor<2x8xf32> {pipeline.role = "batch"})
        -> (tensor<2x4xf32> {pipeline.role = "output"}) attributes {layers = ["layer0"]} {
      %0 = pipeline.node "layer0.F" @layer0.F phase F layer 0 (%w, %x) : (tensor<8x4xf32>, tensor<2x8xf32>) -> tensor<2x4xf32>
      pipeline.yield %0 results [0] : tensor<2x4xf32>
    }
    ```
    Constraints:
    - (graph_c1) every node's layer is less than the number of layers;
    - (graph_c2) node names are unique;
    - (graph_c3) a node of phase F takes values of nodes of phase F only, of the same or an earlier layer, one of phase
      R those of F and R;
    - (graph_c4) a node of phase I, W or B takes forward values of any layer, but backward values of the same or a later
      layer only.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       StrArrayAttr:$layers,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    //===--- FunctionOpInterface ---===//
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }

    /// Name of layer `index`.
    ::llvm::StringRef getLayerName(int64_t index) {
      return ::llvm::cast<::mlir::StringAttr>(getLayers()[index]).getValue();
    }
    int64_t getNumLayers() { return getLayers().size(); }
  }];
}

def Pipeline_NodeOp : Pipeline_Op<"node", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>, HasParent<"GraphOp">]> {
  let summary = "one phase of one layer";
  let description = [{
    With a body the node is a call of a private function with the same types; without one it is known by its costs
    alone, as a profile measured elsewhere gives them. Every operand that is a result of another node is an edge.

    `transfer` holds the seconds of moving a result between devices, for as many of the first results as it has numbers,
    where a profile states seconds instead of bytes. `alternatives` are other ways to run the layer. With
    `sliceable = false` the node mixes rows of the batch, so that replicas of its stage take whole microbatches in turn.
    `workspace` is how many bytes the body's own temporaries take at once, found by compiling it, and `sample_workspace`
    what they take for one sample of a microbatch. `levels` of a forward are ways to keep less for the backward of its
    layer, each with fewer bytes and more work than the one before it; the node itself is level 0. All are planning
    facts of the layer and change nothing that a body computes.

    Example:
    ```mlir
    %dh, %g1 = pipeline.node "layer1.I" @layer1.I phase I layer 1 (%w1, %k1) cost <flops = 8192, read = 3072, written = 2048>
        : (tensor<16x4xf32>, tensor<32x4xf32>) -> (tensor<32x16xf32>, tensor<32x4xf32>)
    ```
    ```mlir
    %0 = pipeline.node "layer0.F" phase F layer 0 () cost <seconds = {"profiled" = 2.0e-03 : f64}>
        {sliceable = false, transfer = array<f64: 5.0e-04>} : () -> tensor<4096xi8>
    ```
    Constraints:
    - (node_c1) the body is a function with the types of the node;
    - (node_c2) `transfer` has at most one number per result, each finite and not negative;
    - (node_c3) alternatives name layers of the graph only;
    - (node_c4) levels are those of a node of phase F, and their bodies are functions whose types are those of the values
      that the level names;
    - (node_c5) the phase is not U.
  }];
  let arguments = (ins StrAttr:$node_name, OptionalAttr<FlatSymbolRefAttr>:$callee, Pipeline_PhaseAttr:$phase,
                       I64Attr:$layer, Variadic<AnyType>:$inputs, OptionalAttr<Pipeline_CostAttr>:$cost,
                       OptionalAttr<DenseF64ArrayAttr>:$transfer,
                       OptionalAttr<TypedArrayAttrBase<Pipeline_AlternativeAttr, "alternatives">>:$alternatives,
                       OptionalAttr<BoolAttr>:$sliceable, OptionalAttr<StrAttr>:$mixes,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$workspace,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$sample_workspace,
                       OptionalAttr<TypedArrayAttrBase<Pipeline_LevelAttr, "levels">>:$levels);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = [{
    $node_name ($callee^)? `phase` custom<ActionKind>($phase) `layer` $layer `(` $inputs `)` (`cost` $cost^)? attr-dict
    `:` functional-type($inputs, $outputs)
  }];
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$outputs, "::llvm::StringRef":$name,
                                 "::mlir::FlatSymbolRefAttr":$callee, "::stagewright::ActionKind":$phase, "int64_t":$layer,
                                 "::mlir::ValueRange":$inputs, CArg<"CostAttr", "{}">:$cost), [{
    build($_builder, $_state, outputs, name, callee, phase, layer, inputs, cost, /*transfer=*/{}, /*alternatives=*/{},
          /*sliceable=*/{}, /*mixes=*/{}, /*workspace=*/{}, /*sample_workspace=*/{}, /*levels=*/{});
  }]>];
  let hasVerifier = 1;
}

def Pipeline_YieldOp : Pipeline_Op<"yield", [Terminator, HasParent<"GraphOp">]> {
  let summary = "what the step returns";
  let description = [{
    Operand k is (a part of) the step's result `results[k]`. Several operands of one result are summed: the gradient of
    a parameter that several layers use comes in parts, one per use, added once per step instead of once per microbatch.

    Example:
    ```mlir
    pipeline.yield %loss, %dw_embed, %dw_head results [0, 1, 1] : tensor<f32>, tensor<64x32xf32>, tensor<64x32xf32>
    ```
    Constraints:
    - (yield_c1) one result number per operand, each within the results of the graph;
    - (yield_c2) every result of the graph has at least one operand, of its type;
    - (yield_c3) only a gradient or a loss, which are summed, comes in several parts.
  }];
  let arguments = (ins Variadic<AnyType>:$values, DenseI64ArrayAttr:$results);
  let assemblyFormat = "($values^)? `results` $results attr-dict (`:` type($values)^)?";
  let hasVerifier = 1;
}

def Pipeline_SplitHintOp : Pipeline_Op<"split_hint", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "how a value of the step is split over devices";
  let description = [{
    The value itself, with the dimension that the model's own file splits over devices, as `jax.lax.with_sharding_constraint`
    states. `pipeline-infer-roles` passes the hint on to the parameters whose dimensions must be split with this one, as
    `pipeline.split_dim`, and removes the operation. With an axis the dimension is split over this axis of a grid of shards.

    Example:
    ```mlir
    %1 = pipeline.split_hint %0 dim 1 : tensor<8x16xf32>
    %2 = pipeline.split_hint %1 dim 0 axis 1 : tensor<8x16xf32>
    ```
    Constraints:
    - (split_hint_c1) the dimension is one of the tensor;
    - (split_hint_c2) the axis is 0 or 1.
  }];
  let arguments = (ins AnyRankedTensor:$value, ConfinedAttr<I64Attr, [IntNonNegative]>:$dim, OptionalAttr<I64Attr>:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value `dim` $dim (`axis` $axis^)? attr-dict `:` type($value)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The machines
//===----------------------------------------------------------------------===//

def Pipeline_ClusterOp : Pipeline_Op<"cluster", [
    Symbol, SymbolTable, NoTerminator, SingleBlock, IsolatedFromAbove, NoRegionArguments]> {
  let summary = "devices and the links between them";
  let description = [{
    Example:
    ```mlir
    pipeline.cluster @local {
      pipeline.device @d0 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
      pipeline.device @d1 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
      pipeline.link @d0 to @d1 bandwidth 8.0e+09 latency 2.0e-06
    }
    pipeline.cluster @two_hosts {
      pipeline.device @g0 class "H100" memory 80000000000 node 0 flops 6.7e+13 bandwidth 3.35e+12 host_bandwidth 6.4e+10 rates {bf16 = 9.895e+14} contractions {bf16 = array<f64: 0.825, 64.0>, processors = 132 : i64}
      pipeline.device @g1 class "V100" memory 16000000000 node 1 flops 1.57e+13 bandwidth 9.0e+11 speed 0.3
      pipeline.fabric between bandwidth 5.0e+10 latency 1.4e-05 nic 4.0e+11
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $body attr-dict";
}

def Pipeline_DeviceOp : Pipeline_Op<"device", [Symbol, HasParent<"ClusterOp">]> {
  let summary = "a place where stages run";
  let description = [{
    `memory` in bytes, `flops` in operations a second, `bandwidth` of its memory in bytes a second. Devices of one `class` run a
    node in the same time; those of one `node` share a host. `speed` is the device's speed divided by that of a profile's device
    (1 if absent), `rates` are operations a second by element type, where they differ from `flops`. `contractions` is which
    share of these rates contractions reach (Contraction.h): `processors` is the number of multiprocessors that compute tiles;
    each entry of an element type has the max share at any size, then the depth: the extent of the summed dimension at which
    a tile reaches half of that share. `host_bandwidth` is the bandwidth of copies to the memory of the device's host and, at
    the same time, of copies back; if it is given, stashes may be offloaded there.

    Constraints:
    - (device_c1) memory, flops and bandwidth are positive;
    - (device_c2) the speed is positive;
    - (device_c3) rates are positive numbers of type f64;
    - (device_c4) of contractions, processors is an i64 of at least 0, and every other entry an array<f64> with two
      numbers, a share above 0 and at most 1, then a depth of at least 0;
    - (device_c5) the bandwidth to the host is positive.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$device_class, I64Attr:$memory, I64Attr:$node,
                       F64Attr:$flops, F64Attr:$bandwidth, OptionalAttr<F64Attr>:$speed,
                       OptionalAttr<DictionaryAttr>:$rates, OptionalAttr<DictionaryAttr>:$contractions,
                       OptionalAttr<F64Attr>:$host_bandwidth);
  let assemblyFormat = [{
    $sym_name `class` $device_class `memory` $memory `node` $node `flops` $flops `bandwidth` $bandwidth
    (`host_bandwidth` $host_bandwidth^)? (`speed` $speed^)? (`rates` $rates^)? (`contractions` $contractions^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Pipeline_LinkOp : Pipeline_Op<"link", [
    HasParent<"ClusterOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a link between two devices, both ways";
  let description = [{
    `bandwidth` in bytes a second, `latency` in seconds.

    Constraints:
    - (link_c1) both ends are devices of the cluster, and differ;
    - (link_c2) bandwidth is positive, latency not negative.
  }];
  let arguments = (ins FlatSymbolRefAttr:$from, FlatSymbolRefAttr:$to, F64Attr:$bandwidth, F64Attr:$latency);
  let assemblyFormat = "$from `to` $to `bandwidth` $bandwidth `latency` $latency attr-dict";
}

def Pipeline_FabricOp : Pipeline_Op<"fabric", [HasParent<"ClusterOp">]> {
  let summary = "links by hierarchy: inside hosts, between hosts, ports of devices and the NIC of a host";
  let description = [{
    Joins every two devices of one host (`inside`) and every two devices of different hosts (`between`), unless they
    have a link of their own. All messages from and to a host share its `nic`; all messages of a device inside its host
    share its `port`, in each direction.

    Example:
    ```mlir
    pipeline.fabric inside bandwidth 2.5e+10 latency 0.0 between bandwidth 3.125e+09 latency 0.0 port 2.5e+10 nic 3.125e+09
    ```
    Constraints:
    - (fabric_c1) a cluster has one fabric at most;
    - (fabric_c2) `inside` and `between` have both bandwidth and latency, and at least one of `inside`, `between`,
      `port` and `nic` is given;
    - (fabric_c3) bandwidths are positive, latencies not negative.
  }];
  let arguments = (ins OptionalAttr<F64Attr>:$inside_bandwidth, OptionalAttr<F64Attr>:$inside_latency,
                       OptionalAttr<F64Attr>:$between_bandwidth, OptionalAttr<F64Attr>:$between_latency,
                       OptionalAttr<F64Attr>:$port, OptionalAttr<F64Attr>:$nic);
  let assemblyFormat = [{
    (`inside` `bandwidth` $inside_bandwidth^ `latency` $inside_latency)?
    (`between` `bandwidth` $between_bandwidth^ `latency` $between_latency)?
    (`port` $port^)? (`nic` $nic^)? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

def Pipeline_ProgramOp : Pipeline_Op<"program", [
    Symbol, NoTerminator, SingleBlock, NoRegionArguments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "stages of a graph on the devices of a cluster";
  let description = [{
    Example:
    ```mlir
    pipeline.program @plan of @step on @local microbatches 8
        plan <time = 4.12e-05 : f64, bound = 3.89e-05 : f64, planner = "balance"> {
      pipeline.stage 0 on [@d0] layers [0]
      pipeline.stage 1 on [@d1] layers [1]
      pipeline.boundary "layer0.F" result 0 from 0 to 1 : tensor<32x16xf32>
    }
    ```
    Constraints:
    - (program_c1) graph and cluster exist, and the number of microbatches is from 1 to 65536;
    - (program_c2) stages are numbered 0, 1, 2, … in order;
    - (program_c3) every layer of the graph lies on exactly one stage;
    - (program_c4) every device of a stage is a device of the cluster, and a stage names each once;
    - (program_c5) a boundary names a node, one of its results with the stated type, and two stages of the program;
    - (program_c6) all stages have a `gang_stage` or none has; the first has 0, and each other one the same as the stage
      before it or one more.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$graph, FlatSymbolRefAttr:$cluster,
                       I64Attr:$microbatches, OptionalAttr<Pipeline_PlanAttr>:$plan,
                       OptionalAttr<Pipeline_AveragingAttr>:$averaging);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `of` $graph `on` $cluster `microbatches` $microbatches (`plan` $plan^)? (`averaging` $averaging^)? $body attr-dict
  }];
}

def Pipeline_StageOp : Pipeline_Op<"stage", [HasParent<"ProgramOp">]> {
  let summary = "a part of the model and its devices";
  let description = [{
    Several devices are replicas. With `rows`, device k runs the stage on `rows[k]` samples of every microbatch; they
    lie in the order of the devices. Without, each runs it on whole microbatches, those that the schedule gives it.
    Stages may share devices: a device runs their actions in the order of the schedule. With `recompute` the stage runs
    its forward again before the backward and keeps only what it receives; `levels` says for each of its layers how much
    it computes again. `offload` lists the layers whose stashes wait for the backward in the memory of the device's
    host. `bound_by` says what its pace or size is limited by: compute, channel, all-reduce or memory.

    If layers are split over shards, a stage has one level of one shard, and `gang_stage` is the stage of the pipeline that
    it is a part of. All stages with one number are a stage of the pipeline, on the devices of a gang; schedules order these
    stages, and each device runs its own levels of one in turn. Without it, schedules order the stages themselves.

    `replica_of`, left by `pipeline-split-replicas`, is five numbers: the stage of which this one was a replica, its
    number among the replicas, their number, its samples of a microbatch, and all samples of a microbatch.

    Example:
    ```mlir
    pipeline.stage 0 on [@d0, @d1] layers [0, 1] {bound_by = "channel", rows = array<i64: 3, 1>}
    ```
    Constraints:
    - (stage_c1) `rows` has one positive number for every device;
    - (stage_c2) `replica_of` is five numbers: a stage, the number of the replica, a count above it, its samples and all
      samples, which are at least as many;
    - (stage_c3) `levels` has one number for every layer, none below 0;
    - (stage_c4) `offload` names layers of the stage, each once, and does not stand beside `recompute`, which keeps nothing
      that a forward makes.
  }];
  let arguments = (ins I64Attr:$index, TypedArrayAttrBase<FlatSymbolRefAttr, "devices">:$devices,
                       DenseI64ArrayAttr:$layers, UnitAttr:$recompute, OptionalAttr<StrAttr>:$bound_by,
                       OptionalAttr<DenseI64ArrayAttr>:$rows, OptionalAttr<DenseI64ArrayAttr>:$replica_of,
                       OptionalAttr<DenseI64ArrayAttr>:$levels, OptionalAttr<DenseI64ArrayAttr>:$offload,
                       OptionalAttr<I64Attr>:$gang_stage);
  let assemblyFormat = "$index `on` $devices `layers` $layers attr-dict";
  let hasVerifier = 1;
}

def Pipeline_BoundaryOp : Pipeline_Op<"boundary", [HasParent<"ProgramOp">]> {
  let summary = "a value that one stage sends to another";
  let description = [{ `from` and `to` are stages; gradients go from later stages to earlier ones. }];
  let arguments = (ins StrAttr:$node, I64Attr:$result, I64Attr:$from, I64Attr:$to, TypeAttr:$type);
  let assemblyFormat = "$node `result` $result `from` $from `to` $to attr-dict `:` $type";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The schedule
//===----------------------------------------------------------------------===//

def Pipeline_ScheduleOp : Pipeline_Op<"schedule", [
    Symbol, NoTerminator, SingleBlock, NoRegionArguments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "which rank runs which action when";
  let description = [{
    Example:
    ```mlir
    pipeline.schedule @one_f_one_b of @plan kind "1f1b" {
      pipeline.order 0 <0F0, 0F1, 0B0, 0B1>
      pipeline.order 1 <1F0, 1B0, 1F1, 1B1>
    }
    ```
    Constraints:
    - (schedule_c1) the program exists;
    - (schedule_c2) ranks are numbered 0, 1, 2, … in order;
    - (schedule_c3) there are `credits` for every stage, each at least 1.

    With `credits [2, 1]` ranks do not follow the orders: each runs its actions as they become ready, with at most 2
    microbatches in flight on stage 0 and 1 on stage 1, from their forward to the end of their backward.

    Rank r is the r-th device in the order of the stages' first devices; for a stage with `rows` the order of the first device
    holds for all its devices, which run the same actions. `pipeline-schedule`, and every pass that reads a schedule, proves
    that the actions are those of the program and on ranks that have their stages.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$program, StrAttr:$kind,
                       OptionalAttr<DenseI64ArrayAttr>:$credits);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `of` $program `kind` $kind (`credits` $credits^)? $body attr-dict";
}

def Pipeline_OrderOp : Pipeline_Op<"order", [HasParent<"ScheduleOp">]> {
  let summary = "the actions of one rank in order";
  let description = [{
    Example:
    ```mlir
    pipeline.order 1 <1F0, 1B0, 1F1, 1B1, 1U>
    ```
  }];
  let arguments = (ins I64Attr:$rank, Pipeline_ActionsAttr:$actions);
  let assemblyFormat = "$rank $actions attr-dict";
}

#endif // STAGEWRIGHT_PIPELINE_OPS_TD
