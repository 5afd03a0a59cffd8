//===- RankProgramOps.td - the step, its channels, its programs -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RANK_PROGRAM_OPS_TD
#define STAGEWRIGHT_RANK_PROGRAM_OPS_TD

include "Rank/RankDialect.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// What the ranks have in common
//===----------------------------------------------------------------------===//

def Rank_StepOp : Rank_Op<"step", [
    FunctionOpInterface, IsolatedFromAbove, OpAsmOpInterface,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the signature of the step that the rank programs run together";
  let description = [{
    Arguments and results with their role attributes, as the graph had them. It has no body: the programs implement it.
    Buffers name arguments and results by `pipeline.position`, their number in the imported step.

    Example:
    ```mlir
    rank.step @step(tensor<8x4xf32> {pipeline.position = 0 : i64, pipeline.role = "parameter"},
                    tensor<2x8xf32> {pipeline.position = 1 : i64, pipeline.role = "batch"})
        -> (tensor<2x4xf32> {pipeline.position = 0 : i64, pipeline.role = "output", pipeline.combine = "concat"})
    ```
    Constraints:
    - (step_c1) it has no body.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility, OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    //===--- FunctionOpInterface ---===//
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return nullptr; }

    /// Types of the arguments (results) by their original position and slice (-1: not sliced). Collected as a whole: a
    /// search for each of a program's buffers would be quadratic in the layers.
    using TypeByPlace = ::std::map<::std::pair<int64_t, int64_t>, ::mlir::RankedTensorType>;
    TypeByPlace collectArguments();
    TypeByPlace collectResults();
  }];
}

def Rank_ChannelOp : Rank_Op<"channel", [Symbol]> {
  let summary = "a ring of slots at the receiver that one sender writes";
  let description = [{
    Message m travels in slot m mod depth. Message m is that of microbatch m or, where ranks run every n-th microbatch, of
    number m of those. The receive for a slot is posted whenever the slot is free, so a sender that has claimed a slot never
    waits to send.
    `depth all` is one slot per microbatch, `depth all by 4` one for every fourth, `depth 2` at most two.
    A channel with `once` carries one message per step, microbatch 0. A `sparse` channel carries only the microbatches
    that the sender runs, if a stage is on several ranks. A channel with `messages N` carries N messages in a step, and the
    microbatch of a transfer operation is then the number of the message.

    Example:
    ```mlir
    rank.channel @h0.F_0.to1 from 0 to 1 depth 2 : memref<4x128x256xf32>
    rank.channel @gradient1.from3 from 3 to 0 depth 1 once : memref<512x256xf32>
    rank.channel @from1.to0 from 1 to 0 depth 4 messages 64 : memref<4x128x256xf32>
    ```
    Constraints:
    - (channel_c1) `from` and `to` are two ranks, not negative;
    - (channel_c2) the depth is positive or `all`;
    - (channel_c3) with `once` the depth is 1, and it is not sparse;
    - (channel_c4) the slot is a memref of static shape with identity layout;
    - (channel_c5) with `messages`, a positive number, the depth is a number, and it is neither once nor sparse.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Rank_IntAttr:$from, Rank_IntAttr:$to, Rank_IntAttr:$depth, UnitAttr:$once,
                       UnitAttr:$sparse, OptionalAttr<Rank_IntAttr>:$messages, Rank_MemoryTypeAttr:$type);
  let assemblyFormat = [{
    $sym_name `from` $from `to` $to `depth` custom<Depth>($depth) (`once` $once^)? (`sparse` $sparse^)?
    (`messages` $messages^)? attr-dict `:` $type
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Slots, and messages, for `microbatches` microbatches.
    int64_t getSlots(int64_t microbatches);
    int64_t countMessages(int64_t microbatches);
    bool isDepthAll() { return getDepth() < 0; }
  }];
}

//===----------------------------------------------------------------------===//
// One rank
//===----------------------------------------------------------------------===//

def Rank_ProgramOp : Rank_Op<"program", [
    Symbol, IsolatedFromAbove, NoTerminator, SingleBlock, NoRegionArguments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "everything that one rank does in one step";
  let description = [{
    First the memory that the rank holds, then the entry. `microbatches` is the number that plans were made for; the entry
    receives the number of the run, which with `only` must be the same. If the devices of the plan are on several hosts, `host`
    is the number of this program's: processes that run programs with one number must be on one host. `memory` is written by
    `verify-rank-programs`: bytes by purpose for `microbatches` microbatches.

    Example:
    ```mlir
    rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
      %w = rank.buffer "w" parameter 0 : memref<8x4xf32>
      %x = rank.buffer "x" batch 1 depth all : memref<2x8xf32>
      %y = rank.buffer "y" output 0 depth all : memref<2x4xf32>
      rank.entry (%M) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %0 = rank.slot %w : memref<8x4xf32>
        scf.for %m = %c0 to %M step %c1 {
          rank.action F stage 0 microbatch %m {
            %1 = rank.slot %x[%m] : memref<2x8xf32>
            %2 = rank.slot %y[%m] : memref<2x4xf32>
            rank.call @layer0.F ins(%0, %1 : memref<8x4xf32>, memref<2x8xf32>) outs(%2 : memref<2x4xf32>) node "layer0.F"
          }
        }
      }
    }
    ```
    Constraints:
    - (rank_program_c1) `of` names a `rank.step`;
    - (rank_program_c2) the rank (and host) is not negative and the number of microbatches from 1 to 65536;
    - (rank_program_c3) it holds buffers, then one entry;
    - (rank_program_c4) buffer names are unique;
    - (rank_program_c5) a buffer with a position has the shape and element type of that argument or result of the step;
    - (rank_program_c6) `memory` has integers of 64 bits.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Rank_IntAttr:$rank, StrAttr:$device,
                       OptionalAttr<Rank_IntAttr>:$host, FlatSymbolRefAttr:$step,
                       Rank_IntAttr:$microbatches, UnitAttr:$only, StrAttr:$schedule,
                       OptionalAttr<DictionaryAttr>:$memory);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `rank` $rank `device` $device (`host` $host^)? `of` $step `microbatches` $microbatches (`only` $only^)?
    `schedule` $schedule (`memory` $memory^)? $body attr-dict
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    EntryOp getEntry();
    /// Whether it chooses what it runs, so that no order tells which slots are held at once.
    bool isReadyFirst();
  }];
}

def Rank_BufferOp : Rank_Op<"buffer", [
    HasParent<"ProgramOp">, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "memory of the rank: its purpose, and the number and type of its slots";
  let description = [{
    | kind | slots | filled by |
    |---|---|---|
    | `parameter N`, `constant N`, `seed N` | 1 | the host, argument at position N |
    | `state N` | 1 | the host, argument at position N; the program replaces it, as it does a parameter |
    | `batch N` | all | the host, one slot per microbatch of argument N |
    | `microbatch` | all | the runtime, slot m holds m |
    | `gradient N` | 1 | the program: sum over microbatches, then the result at position N |
    | `gradient` | 1 | the program: a part of a gradient that another rank has, or that ranks sum together |
    | `accumulator N` | 1 | the program: sum over microbatches of a loss or output, the result at position N |
    | `output N` | all, or 1 where the last microbatch counts | the program, one slot per microbatch of result N that the rank runs |
    | `stash` | depth | a forward, for its backward; held from `rank.acquire` to `rank.release` |
    | `workspace` | 1 | values inside one action, and the own workspace of stage functions |

    If a parameter (or its gradient or state) is owned in slices, `slice i` says which slice the buffer holds: a row of
    dimension 0, or a part of a dimension, as the step's attributes say.

    Example:
    ```mlir
    %w0 = rank.buffer "params/w" parameter 0 slice 2 : memref<8x4xf32>
    %x = rank.buffer "x" batch 2 depth all : memref<2x8xf32>
    %k = rank.buffer "layer0.F.1" stash depth 2 : memref<2x4xf32>
    %n = rank.buffer "layer0.F.2" stash at 1024 : memref<2x4xf32>
    %o = rank.buffer "layer1.F.0" stash depth 2 at 1024 starts [64, 0, 128, 64] : memref<2x4xf32>
    %h = rank.buffer "layer0.F.1.host" stash host depth 4 : memref<2x4xf32>
    %v = rank.buffer "params/v" parameter 1 own 7 weight 0.25 : memref<8x4xf32>
    %y = rank.buffer "logits" output 0 depth all turns [1] of 2 : memref<2x4xf32>
    %tmp = rank.buffer "workspace" workspace : memref<4096xi8>
    ```
    `at 1024` places the slots of a stash in the workspace, the first at that byte: other values use these bytes while no
    slot is held. Without it a buffer has memory of its own.
    With `starts [0, 4096, 0]` microbatch m lies `starts[m]` bytes behind that byte instead of in slot m mod depth:
    stashes that are not full at the same time share the bytes (a frame of slots, for programs of one number of
    microbatches).
    `own 7` is for a parameter or state of which each replica has a version of its own: the host also reads and sets this rank's
    buffer as the state at position 7 of the step. Of a parameter, gradient or accumulator that differs between replicas, the
    host reads a weighted sum over the replicas; `weight 0.25` is the weight of this rank's buffer.
    `turns [1] of 2` is for an output that several ranks write, because replicas take microbatches in turn: this rank writes the
    slot of microbatch m if m mod 2 is 1, and the host reads it there.
    A `host` stash lies in the memory of the device's host. Nothing computes on it: `rank.offload` fills it, `rank.fetch`
    empties it.

    Constraints:
    - (buffer_c1) a position is given for `parameter`, `constant`, `seed`, `state`, `batch`, `accumulator` and `output`, may be
      given for `gradient`, and is not given for the others;
    - (buffer_c2) only a parameter, a constant, a gradient or a state is a slice;
    - (buffer_c3) only `batch`, `microbatch`, `output` and `stash` have more than one slot; the depth is positive or `all`, and
      only a stash may have the depth `all by N`;
    - (buffer_c4) a workspace is a vector of i8;
    - (buffer_c5) the slot is a memref of static shape with identity layout;
    - (buffer_c6) only a stash of a fixed depth has a place in the workspace, which is a multiple of 64 and not negative;
    - (buffer_c7) only a stash with a place has starts, multiples of 64 and not negative, in a program of one number of
      microbatches;
    - (buffer_c8) only a stash without a place lies on the host;
    - (buffer_c9) only a parameter or state is a replica's own, of the type of the step's argument there, and only a parameter,
      gradient or accumulator with a position has a weight, above 0 and at most 1;
    - (buffer_c10) only an output with a slot for every microbatch has turns: some of the numbers from 0 to below `of`, in
      increasing order.
  }];
  let arguments = (ins StrAttr:$buffer_name, Rank_BufferKind:$kind, OptionalAttr<Rank_IntAttr>:$position,
                       OptionalAttr<Rank_IntAttr>:$slice, DefaultValuedAttr<Rank_IntAttr, "1">:$depth,
                       Rank_MemoryTypeAttr:$type, OptionalAttr<Rank_IntAttr>:$place,
                       OptionalAttr<DenseI64ArrayAttr>:$starts, UnitAttr:$on_host,
                       OptionalAttr<Rank_IntAttr>:$own, OptionalAttr<F64Attr>:$weight,
                       OptionalAttr<DenseI64ArrayAttr>:$turns, OptionalAttr<Rank_IntAttr>:$period);
  let results = (outs Rank_Buffer:$buffer);
  let assemblyFormat = [{
    $buffer_name $kind (`host` $on_host^)? ($position^)? (`slice` $slice^)? (`depth` custom<Depth>($depth)^)? (`at` $place^)?
    (`starts` $starts^)? (`own` $own^)? (`weight` $weight^)? (`turns` $turns^ `of` $period)?
    attr-dict `:` $type
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Slots for `microbatches` microbatches.
    int64_t getSlots(int64_t microbatches);
    bool isDepthAll() { return getDepth() < 0; }
    /// True for kinds whose slots are chosen by a microbatch.
    bool isPerMicrobatch();
    /// Whether copies from or to the host, or gathers, use its slots while the program runs. Slots that are copied live
    /// longer than the program says, and slots of gathers have fixed places, so neither of them share bytes.
    bool isCopied();
  }];
}

def Rank_EntryOp : Rank_Op<"entry", [
    HasParent<"ProgramOp">, NoTerminator, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "the order of work of one step, for a number of microbatches";
  let description = [{
    Its argument is the number of microbatches of the run. Loops are `scf.for`; their bounds are computed from it.

    Example:
    ```mlir
    rank.entry (%M) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %m = %c0 to %M step %c1 {
        ...
      }
    }
    ```
    Constraints:
    - (entry_c1) it has one argument of type index.
  }];
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Value getMicrobatches() { return getBody().getArgument(0); }
  }];
}

def Rank_ActionOp : Rank_Op<"action", [NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "one action of the schedule";
  let description = [{
    The calls of a stage for one microbatch with the transfers around them; what a trace shows as one bar.

    Example:
    ```mlir
    rank.action B stage 1 microbatch %m {
      ...
    }
    ```
    Constraints:
    - (action_c1) it lies in an entry, and in no other action.
  }];
  let arguments = (ins Rank_ActionKindAttr:$kind, Rank_IntAttr:$stage, Index:$microbatch);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "custom<ActionKind>($kind) `stage` $stage `microbatch` $microbatch $body attr-dict";
  let hasVerifier = 1;
}

def Rank_TableOp : Rank_Op<"table", [Pure]> {
  let summary = "one row of an order that does not repeat";
  let description = [{
    Row k says which case is run for which microbatch. A loop reads the rows and an `scf.index_switch` holds every case
    once, so only this data grows with the number of microbatches.

    Example:
    ```mlir
    scf.for %k = %c0 to %c4 step %c1 {
      %case, %m = rank.table[%k] cases [0, 1, 0, 1] microbatches [0, 0, 1, 1]
      scf.index_switch %case
      case 0 {
        rank.action F stage 0 microbatch %m { ... }
        scf.yield
      }
      ...
    }
    ```
    Constraints:
    - (table_c1) as many cases as microbatches, at least one, none negative;
    - (table_c2) it lies in an entry.
  }];
  let arguments = (ins Index:$row, DenseI64ArrayAttr:$cases, DenseI64ArrayAttr:$microbatches);
  let results = (outs Index:$which, Index:$microbatch);
  let assemblyFormat = "`[` $row `]` `cases` $cases `microbatches` $microbatches attr-dict";
  let hasVerifier = 1;
}

def Rank_ChooseOp : Rank_Op<"choose"> {
  let summary = "the next row of a table whose order the ranks find as they run";
  let description = [{
    The rows of the table lie in lanes: the first `lanes[0]` rows are lane 0, the next `lanes[1]` lane 1. Every lane runs its
    rows in order. The operation waits until the next row of some lane can run: its messages have arrived, the slots that it
    claims and acquires are free, and the rows that it follows are done. Of several such rows it takes the one with the lowest
    number in `turns`. `after` is a list of pairs: `after [0, 2]` says that microbatch m of lane 0 follows that of lane 2.

    Example:
    ```mlir
    scf.for %k = %c0 to %c4 step %c1 {
      %row = rank.choose lanes [2, 2] turns [0, 1, 2, 3] after [0, 1]
      %case, %m = rank.table[%row] cases [0, 0, 1, 1] microbatches [0, 1, 0, 1]
      scf.index_switch %case
      case 0 {
        rank.action B stage 0 microbatch %m { ... }
        scf.yield
      }
      ...
    }
    ```
    Constraints:
    - (choose_c1) at least one lane, each with at least one row, and a turn for each row;
    - (choose_c2) pairs are of two different lanes;
    - (choose_c3) it lies in a loop of an entry, in a program of one number of microbatches;
    - (choose_c4) its row is read by a table of as many rows.
  }];
  let arguments = (ins DenseI64ArrayAttr:$lanes, DenseI64ArrayAttr:$turns, DenseI64ArrayAttr:$after);
  let results = (outs Index:$row);
  let assemblyFormat = "`lanes` $lanes `turns` $turns `after` $after attr-dict";
  let hasVerifier = 1;
}

#endif // STAGEWRIGHT_RANK_PROGRAM_OPS_TD
