//===- RankArtifact.td - the facts of an artifact -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RANK_ARTIFACT_TD
#define STAGEWRIGHT_RANK_ARTIFACT_TD

include "Rank/RankDialect.td"

/// Parameters as a list of `key = value`. What has its default is not printed.
class Rank_Facts<string name, string attrMnemonic, string brief> : AttrDef<RankDialect, name> {
  let mnemonic = attrMnemonic;
  let summary = brief;
  let assemblyFormat = "`<` struct(params) `>`";
}

/// `[a, b]`; empty by default.
class Rank_List<string type> : OptionalArrayRefParameter<type> {
  let parser = "::stagewright::rank::parseList<" # type # ">($_parser)";
  let printer = "::stagewright::rank::printList($_printer, $_self)";
}

class Rank_Number<string value> : DefaultValuedParameter<"int64_t", value>;
def Rank_Flag : DefaultValuedParameter<"bool", "false">;
def Rank_Text : OptionalParameter<"::mlir::StringAttr">;
def Rank_Real : OptionalParameter<"::mlir::FloatAttr">;

//===----------------------------------------------------------------------===//
// The step from outside, and what the ranks have in common
//===----------------------------------------------------------------------===//

def Rank_InterfaceAttr : Rank_Facts<"Interface", "interface", "An argument or a result of the step, as files have it"> {
  let description = [{
    `type` is that of all slices together. If ranks own it in `slices`, dimension 0 has `rows` equal rows with the same number
    of slices each, and a slice is `runs` equal runs of elements. Runs are of whole units of `unit` elements; the runs of a
    row's first slices have one unit more if the units cannot be divided equally. On a grid of shards `axes` states the slices
    of a row instead, with four numbers for each axis, outermost axis first: the number of parts, then dimension of `type`,
    chunks and unit (see `pipeline.slice_dim`, `slice_outer` and `slice_unit`); a later axis splits the parts of an earlier one.
    `of` is the argument that a gradient belongs to. `symbol` is the data of an argument that was a constant of the model. With
    `averaging` it is state of averages over replicas.

    ```mlir
    #rank.interface<position = 0, name = "params/w", role = "parameter", type = tensor<8x4xf32>>
    ```
    Constraints:
    - (interface_c1) files of tensors can hold the element type, and the shape is static;
    - (interface_c2) position, slices and batch_dim are not negative, and rows, runs and unit positive;
    - (interface_c3) the axes give every slice at least one unit of each chunk.
  }];
  let parameters = (ins "int64_t":$position, "::mlir::StringAttr":$name, "::mlir::StringAttr":$role,
                        "::mlir::RankedTensorType":$type, Rank_Number<"0">:$slices, Rank_Number<"1">:$rows,
                        Rank_Number<"1">:$runs, Rank_Number<"0">:$batch_dim, Rank_Text:$combine, Rank_Number<"-1">:$of,
                        Rank_Flag:$averaging, Rank_Text:$symbol, Rank_Number<"1">:$unit,
                        Rank_List<"int64_t">:$axes);
  let genVerifyDecl = 1;
}

def Rank_ChannelAttr : Rank_Facts<"Channel", "channel", "A `rank.channel`"> {
  let description = [{
    `round` is the round in which the two ranks create their communicator; `messages` is 0 for one message for each
    microbatch or, with `once`, each step.

    ```mlir
    #rank.channel<name = "h0.to1", from = 0, to = 1, type = tensor<4x8xf32>, depth = 2>
    ```
    Constraints:
    - (channel_facts_c1) the depth is not 0, and round and messages are not negative;
    - (channel_facts_c2) the slot has a static shape, of integers or floats.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$from, "int64_t":$to, "::mlir::RankedTensorType":$type,
                        "int64_t":$depth, Rank_Number<"0">:$round, Rank_Flag:$once, Rank_Number<"0">:$messages);
  let genVerifyDecl = 1;
}

def Rank_BucketAttr : Rank_Facts<"Bucket", "bucket", "The part of a rank in a sum or gather: consecutive buffers, or a slot of one"> {
  let description = [{
    ```mlir
    #rank.bucket<rank = 1, first = 4, buffers = 3>
    ```
  }];
  let parameters = (ins "int64_t":$rank, "int64_t":$first, "int64_t":$buffers,
                        Rank_Number<"0">:$slot);
}

def Rank_CollectiveAttr : Rank_Facts<"Collective", "collective", "A `rank.collective`, or one slot of a `rank.gather`, with the buffers of each rank"> {
  let description = [{
    With `gathers` the type is that of one part, and each bucket is a slot: it has the parts of all ranks or, with `exchanges`,
    the parts to send, then the parts to receive.

    ```mlir
    #rank.collective<name = "sum0", type = tensor<64xf32>, buckets = [<rank = 0, first = 4, buffers = 3>]>
    ```
    Constraints:
    - (collective_facts_c1) the bucket has a static shape, of integers or floats.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::RankedTensorType":$type, Rank_List<"BucketAttr">:$buckets,
                        Rank_Flag:$gathers,
                        Rank_Flag:$exchanges);
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// One rank
//===----------------------------------------------------------------------===//

def Rank_BufferAttr : Rank_Facts<"Buffer", "buffer", "A `rank.buffer`, with its argument and its result"> {
  let description = [{
    `argument` and `result` are positions in the step, or -1. So are `own_argument` and `own_result`, the positions of a version
    that the replica has for itself; `weight` is the weight of the replica in `result`. `starts` is the number of one of the
    program's lists `starts`, or -1. If several ranks have parts of `result`, microbatch m is in the buffer whose `turns` have m
    mod `period`.

    ```mlir
    #rank.buffer<name = "params/w", kind = parameter, type = tensor<8x4xf32>, argument = 0>
    ```
    Constraints:
    - (buffer_facts_c1) the depth is not 0;
    - (buffer_facts_c2) the slot has a static shape, of integers or floats;
    - (buffer_facts_c3) it has turns and their period, or neither.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, EnumParameter<Rank_BufferKind>:$kind,
                        "::mlir::RankedTensorType":$type, Rank_Number<"1">:$depth, Rank_Number<"-1">:$argument,
                        Rank_Number<"-1">:$result, Rank_Number<"-1">:$slice, Rank_Number<"-1">:$place,
                        Rank_Number<"-1">:$starts, Rank_Flag:$on_host, Rank_Number<"-1">:$own_argument,
                        Rank_Number<"-1">:$own_result, Rank_Real:$weight, Rank_List<"int64_t">:$turns,
                        Rank_Number<"0">:$period);
  let genVerifyDecl = 1;
}

def Rank_AverageAttr : Rank_Facts<"Average", "average", "A `rank.average`, with the numbers of its buffers"> {
  let description = [{
    ```mlir
    #rank.average<collective = 0, every = 4, delay = 1, xi = 2.5e-01 : f64, weight = 5.0e-01 : f64, turns = 2, step = 3,
                  sum = 4, parameters = [0, 1]>
    ```
  }];
  let parameters = (ins "int64_t":$collective, "int64_t":$every, "int64_t":$delay, "::mlir::FloatAttr":$xi,
                        Rank_Flag:$corrected, "::mlir::FloatAttr":$weight, "int64_t":$turns, "int64_t":$step,
                        "int64_t":$sum, Rank_Number<"-1">:$snapshot, Rank_List<"int64_t">:$parameters);
}

def Rank_RowAttr : Rank_Facts<"Row", "row", "Actions that a rank runs as they become ready, and what they wait for"> {
  let description = [{
    `receives` and `claims` are lists of pairs of a channel and a message, `after` is a list of earlier rows.

    ```mlir
    #rank.row<name = "1F0", lane = 0, turn = 3, receives = [0, 0], claims = [1, 0], after = [0]>
    ```
    Constraints:
    - (row_c1) receives and claims are pairs.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$lane, "int64_t":$turn, Rank_List<"int64_t">:$receives,
                        Rank_List<"int64_t">:$claims, Rank_List<"int64_t">:$after);
  let genVerifyDecl = 1;
}

def Rank_ProgramAttr : Rank_Facts<"Program", "program", "What the runtime knows of one rank"> {
  let description = [{
    `entry` is the function that runs the step. Generated code refers to buffers and nodes by their number here. `starts`
    lists the offsets of stashes without a ring, `memory` is bytes by purpose.

    ```mlir
    #rank.program<device = "d0", entry = "step.0", stages = [0],
                  buffers = [<name = "params/w", kind = parameter, type = tensor<8x4xf32>, argument = 0>],
                  nodes = ["layer0.F"], memory = {arena = 128 : i64, live_peak = 128 : i64}>
    ```
    Constraints:
    - (program_facts_c1) the entries of `memory` are integers of 64 bits;
    - (program_facts_c2) buffers name starts, and averages buffers, that the program has.
  }];
  let parameters = (ins "::mlir::StringAttr":$device, Rank_Number<"0">:$host, "::mlir::StringAttr":$entry,
                        Rank_List<"int64_t">:$stages, Rank_List<"BufferAttr">:$buffers,
                        Rank_List<"::mlir::DenseI64ArrayAttr">:$starts, Rank_List<"::mlir::StringAttr">:$nodes,
                        OptionalParameter<"::mlir::DictionaryAttr">:$memory, Rank_List<"AverageAttr">:$averages,
                        Rank_List<"RowAttr">:$rows);
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Devices, and what is reported
//===----------------------------------------------------------------------===//

def Rank_KernelAttr : Rank_Facts<"Kernel", "kernel", "How a kernel is launched, and the work of one launch"> {
  let description = [{
    On a `gpu.func`, as `rank.kernel`, and in the artifact. `bytes` has a number for each argument: if the argument is an
    address, how many bytes from there on the kernel may access, else 0. If the kernel adds to all elements of arguments
    (`sums`) or to some (`adds`), its last argument has bits for these arguments (`sw_sums` of stagewright-rt/device.h), which
    say whether to start from zero and whether to divide by the count. `flops`, `read` and `written` are the work of a launch in
    scalar operations and distinct bytes. A kernel that only divides arguments by a count is a `mean`.

    ```mlir
    #rank.kernel<arguments = 2, block = [32, 1, 1], bytes = [32, 32], flops = 8, form = "elements", grid = [1, 1, 1],
                 name = "kernel_0", read = 32, shared = 0, written = 32>
    ```
    Constraints:
    - (kernel_c1) grid and block are three positive numbers, and no other number is negative.
  }];
  let parameters = (ins Rank_List<"int64_t">:$adds, Rank_Number<"0">:$arguments, Rank_List<"int64_t">:$block,
                        Rank_List<"int64_t">:$bytes, "int64_t":$flops, "::mlir::StringAttr":$form,
                        Rank_List<"int64_t">:$grid, Rank_Flag:$mean, "::mlir::StringAttr":$name, "int64_t":$read,
                        "int64_t":$shared, Rank_List<"int64_t">:$sums, "int64_t":$written);
  let genVerifyDecl = 1;
}

def Rank_ConstantAttr : Rank_Facts<"Constant", "constant", "An array of the artifact that kernels read"> {
  let description = [{
    ```mlir
    #rank.constant<bytes = 32, symbol = "stagewright_constant_0123456789abcdef">
    ```
    Constraints:
    - (constant_c1) the bytes are not negative.
  }];
  let parameters = (ins "int64_t":$bytes, "::mlir::StringAttr":$symbol);
  let genVerifyDecl = 1;
}

def Rank_DeviceAttr : Rank_Facts<"Device", "device", "The devices that kernels are compiled for"> {
  let description = [{
    ```mlir
    #rank.device<kind = "cuda", architectures = ["sm_80", "sm_90a"], ptx = ["sm_80"]>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$kind, Rank_List<"::mlir::StringAttr">:$architectures,
                        Rank_List<"::mlir::StringAttr">:$ptx);
}

def Rank_StageAttr : Rank_Facts<"Stage", "stage", "The devices and layers of a stage, by name"> {
  let description = [{
    ```mlir
    #rank.stage<index = 0, devices = ["d0"], layers = ["layer0", "layer1"]>
    ```
  }];
  let parameters = (ins "int64_t":$index, Rank_List<"::mlir::StringAttr">:$devices,
                        Rank_List<"::mlir::StringAttr">:$layers);
}

def Rank_PlanAttr : Rank_Facts<"Plan", "plan", "The plan that the rank programs were made from"> {
  let description = [{
    For reports only: nothing is lowered from it. On the module, as `rank.plan`, until the artifact has it. `idle` is the share
    of each rank's time without work, `grid` the drawing of the schedule.

    ```mlir
    #rank.plan<stages = [<index = 0, devices = ["d0"], layers = ["layer0"]>],
               promise = <time = 4.12e-05 : f64, bound = 3.89e-05 : f64, planner = "spp">, idle = [0.25]>
    ```
  }];
  let parameters = (ins Rank_List<"StageAttr">:$stages, OptionalParameter<"::stagewright::pipeline::PlanAttr">:$promise,
                        OptionalParameter<"::stagewright::pipeline::AveragingAttr">:$averaging,
                        OptionalParameter<"::mlir::DenseF64ArrayAttr">:$idle, Rank_Text:$grid);
}

//===----------------------------------------------------------------------===//
// The artifact
//===----------------------------------------------------------------------===//

def Rank_ArtifactOp : Rank_Op<"artifact", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "all that the runtime knows of the rank programs";
  let description = [{
    Written by `lower-rank-to-host` in the place of the programs, whose code is functions from then on. Generated code refers
    to channels, collectives, buffers and nodes by their number here, and `programs` are by rank. Lowering to a device adds
    kernels, constants and the device. The target writes it as JSON, the manifest, into a section of the artifact, together
    with what is only known there: processors and libraries. Sizes in bytes, data types and shapes of the manifest come from
    types, its version from what the programs use.

    Example:
    ```mlir
    rank.artifact "step" microbatches 8 schedule "gpipe"
        arguments [#rank.interface<position = 0, name = "x", role = "batch", type = tensor<8xf32>>]
        results [#rank.interface<position = 0, name = "y", role = "output", type = tensor<8xf32>, combine = "concat">]
        channels [] collectives [] programs [#rank.program<device = "d0", entry = "step.0">]
    ```
    Constraints:
    - (artifact_c1) the number of microbatches is positive;
    - (artifact_c2) channels are between two programs of the artifact;
    - (artifact_c3) buckets are buffers of programs of the artifact;
    - (artifact_c4) averages and rows name collectives and channels of the artifact.
  }];
  let arguments = (ins StrAttr:$name, Rank_IntAttr:$microbatches, UnitAttr:$only, StrAttr:$schedule,
                       TypedArrayAttrBase<Rank_InterfaceAttr, "arguments">:$step_arguments,
                       TypedArrayAttrBase<Rank_InterfaceAttr, "results">:$step_results,
                       TypedArrayAttrBase<Rank_ChannelAttr, "channels">:$channels,
                       TypedArrayAttrBase<Rank_CollectiveAttr, "collectives">:$collectives,
                       TypedArrayAttrBase<Rank_ProgramAttr, "programs">:$programs, OptionalAttr<Rank_PlanAttr>:$plan,
                       OptionalAttr<TypedArrayAttrBase<Rank_KernelAttr, "kernels">>:$kernels,
                       OptionalAttr<TypedArrayAttrBase<Rank_ConstantAttr, "constants">>:$constants,
                       OptionalAttr<Rank_DeviceAttr>:$device);
  let assemblyFormat = [{
    $name `microbatches` $microbatches (`only` $only^)? `schedule` $schedule `arguments` custom<Lines>($step_arguments)
    `results` custom<Lines>($step_results) `channels` custom<Lines>($channels) `collectives` custom<Lines>($collectives)
    `programs` custom<Lines>($programs) (`plan` $plan^)? (`kernels` custom<Lines>($kernels)^)?
    (`constants` custom<Lines>($constants)^)? (`device` $device^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // STAGEWRIGHT_RANK_ARTIFACT_TD
