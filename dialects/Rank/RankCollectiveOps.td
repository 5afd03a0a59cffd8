//===- RankCollectiveOps.td - sums and gathers over ranks -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RANK_COLLECTIVE_OPS_TD
#define STAGEWRIGHT_RANK_COLLECTIVE_OPS_TD

include "Rank/RankDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Rank_CollectiveOp : Rank_Op<"collective", [Symbol]> {
  let summary = "a sum over some ranks, once per step";
  let description = [{
    Every rank in the list after `among` has one bucket: buffers that lie one after the other, each rounded up to the alignment
    of slots. The type is that of a whole bucket. Afterwards all buckets hold the same bits.

    Example:
    ```mlir
    rank.collective @sum.0 among [0, 3] : memref<48xf32>
    ```
    Constraints:
    - (collective_c1) at least two ranks, not negative and in increasing order;
    - (collective_c2) a bucket is a vector of known length, of floats or integers of whole bytes.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$ranks, Rank_MemoryTypeAttr:$type);
  let assemblyFormat = "$sym_name `among` $ranks attr-dict `:` $type";
  let hasVerifier = 1;
}

class Rank_CollectiveUse<string mnemonic, list<Trait> traits = []>
    : Rank_Op<mnemonic, traits # [DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def Rank_AllReduceOp : Rank_CollectiveUse<"all_reduce", [AttrSizedOperandSegments]> {
  let summary = "this rank's part of a sum over ranks is complete";
  let description = [{
    Begins the sum and does not block. Until `rank.await_reduced` of the same collective the buffers are neither read nor
    written. With `at %m of %last` it begins the sum only if both are equal: in a loop, at the action that adds for the
    last time.

    Ranks that have several sums in common begin these in the same order, since MPI and NCCL match the calls of different
    ranks by their order. There is also one order of all collectives that suits every rank, since a GPU's stream waits where a
    collective begins: if ranks 0 and 1 share a sum x, 1 and 2 a sum y, and 2 and 0 a sum z, the ranks must not begin x before
    y, y before z and z before x (`verify-rank-programs`).

    Example:
    ```mlir
    rank.all_reduce @sum.0 (%gradient.w, %gradient.b) at %m of %last
    ```
    Constraints:
    - (all_reduce_c1) the collective exists and this rank is among its ranks;
    - (all_reduce_c2) its buffers, at least one, are gradients or accumulators that are declared one after the other in
      this order, of the collective's element type, and together as long as its bucket;
    - (all_reduce_c3) a microbatch and the last one are given together.
  }];
  let arguments = (ins FlatSymbolRefAttr:$collective, Variadic<Rank_Buffer>:$buffers, Optional<Index>:$microbatch,
                       Optional<Index>:$last);
  let assemblyFormat = [{
    $collective `(` $buffers `)` (`at` $microbatch^ `of` $last)? attr-dict
  }];
  let hasVerifier = 1;
}

def Rank_AwaitReducedOp : Rank_CollectiveUse<"await_reduced"> {
  let summary = "waits until a sum over ranks is complete";
  let description = [{
    Example:
    ```mlir
    rank.await_reduced @sum.0
    ```
    Constraints:
    - (await_reduced_c1) the collective exists and this rank is among its ranks.
  }];
  let arguments = (ins FlatSymbolRefAttr:$collective);
  let assemblyFormat = "$collective attr-dict";
}

def Rank_GatherOp : Rank_Op<"gather", [Symbol]> {
  let summary = "some ranks that have one part of a value each get all parts of it, for every microbatch";
  let description = [{
    Every rank in the list after `among` has a stash of `depth` slots. A slot has room for the parts of all these ranks, in
    their order and without gaps. A rank writes its own part and receives the others. The type is that of one part.

    With `exchange` each rank has a part for every other rank instead (an all-to-all). A slot has the parts that the rank
    sends, by receiver, then those that it receives, by sender; its own place among both is not used.

    Example:
    ```mlir
    rank.gather @h1.join among [0, 1] depth 2 : memref<4x16xf32>
    rank.gather @h1.scatter exchange among [0, 1] depth 2 : memref<4x16xf32>
    ```
    Constraints:
    - (gather_c1) at least two ranks, not negative and in increasing order;
    - (gather_c2) the depth is positive;
    - (gather_c3) a part is a memref of static shape with identity layout, of floats or integers of whole bytes, and has a
      positive multiple of 64 bytes.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, UnitAttr:$exchange, DenseI64ArrayAttr:$ranks, Rank_IntAttr:$depth,
                       Rank_MemoryTypeAttr:$type);
  let assemblyFormat = "$sym_name (`exchange` $exchange^)? `among` $ranks `depth` $depth attr-dict `:` $type";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The type of a slot: the parts of all ranks, or those to send and those to receive.
    ::mlir::MemRefType getSlotType();
  }];
}

def Rank_AllGatherOp : Rank_CollectiveUse<"all_gather"> {
  let summary = "this rank's part of a gather is written";
  let description = [{
    Begins to send the part to the other ranks and to receive theirs, and does not block. Until `rank.await_gathered` of the
    same microbatch the slot is neither read, written nor released. A rank gathers all microbatches in the same buffer, which
    no other gather uses.

    All ranks begin gathers and sums in one order, as for `rank.all_reduce`.

    Example:
    ```mlir
    rank.all_gather @h1.join(%joined)[%m]
    ```
    Constraints:
    - (all_gather_c1) the gather exists and this rank is among its ranks;
    - (all_gather_c2) the buffer is a stash on the device, with the depth of the gather and slots for all parts.
  }];
  let arguments = (ins FlatSymbolRefAttr:$collective, Rank_Buffer:$buffer, Index:$microbatch);
  let assemblyFormat = "$collective `(` $buffer `)` `[` $microbatch `]` attr-dict";
}

def Rank_AwaitGatheredOp : Rank_CollectiveUse<"await_gathered"> {
  let summary = "waits until the parts of all ranks have arrived";
  let description = [{
    Example:
    ```mlir
    rank.await_gathered @h1.join[%m]
    ```
    Constraints:
    - (await_gathered_c1) the gather exists and this rank is among its ranks.
  }];
  let arguments = (ins FlatSymbolRefAttr:$collective, Index:$microbatch);
  let assemblyFormat = "$collective `[` $microbatch `]` attr-dict";
}

def Rank_PartOp : Rank_Op<"part", [Pure]> {
  let summary = "one part of a slot of a gather";
  let description = [{
    Example:
    ```mlir
    %p = rank.part %slot[1] : memref<4x16xf32> of memref<2x4x16xf32>
    ```
    Constraints:
    - (part_c1) the slot has the type of the part with one more leading dimension, and the number is below its size.
  }];
  let arguments = (ins Rank_Memory:$slot, Rank_IntAttr:$number);
  let results = (outs Rank_Memory:$part);
  let assemblyFormat = "$slot `[` $number `]` attr-dict `:` type($part) `of` type($slot)";
  let hasVerifier = 1;
}

def Rank_AverageOp : Rank_CollectiveUse<"average", [AttrSizedOperandSegments]> {
  let summary = "the average of the parameters of replicas: begun, merged or neither, by the number of the step";
  let description = [{
    Replicas that update their own parameters average them at the end of every `every`-th step, and merge the average `delay`
    steps later. The op counts the step in `step`. If it is a multiple of `every`, it writes the parameters times `weight` to
    `sum`, each at a multiple of 64 bytes, and begins the collective. If an average a was begun `delay` steps before, the op
    first waits for it and merges it: each parameter x becomes `xi` x + (1 - `xi`) a or, with a snapshot, which is taken when
    the average begins, x + (a - snapshot). With `delay` 0 both are done in one step, and `corrected` makes x = a.

    So the sum runs while `delay` whole steps do. All ranks of the collective begin it in the same step and await it in the same
    later step. With `delay` 0 the op is an all-reduce directly followed by its await. `turns` is the number of replicas that
    take microbatches in turn: a step needs at least as many microbatches.

    Example:
    ```mlir
    rank.average @average.0 (%w, %b) step %step sum %a snapshot %s every 4 delay 1 xi 0.25 corrected weight 0.5
    ```
    Constraints:
    - (average_c1) the collective exists and this rank is among its ranks;
    - (average_c2) `step` is state of one 64-bit integer; `sum`, and the snapshot, are state of the collective's type, whose
      bytes are those of the parameters, each rounded up to 64;
    - (average_c3) `every` is positive, `delay` from 0 to `every`, `xi` from 0 to 1, `weight` above 0 and at most 1, `turns`
      positive;
    - (average_c4) it has a snapshot if it is corrected and delayed, and else none.
  }];
  let arguments = (ins FlatSymbolRefAttr:$collective, Variadic<Rank_Buffer>:$parameters, Rank_Buffer:$step, Rank_Buffer:$sum,
                       Optional<Rank_Buffer>:$snapshot, Rank_IntAttr:$every, Rank_IntAttr:$delay, F64Attr:$xi,
                       UnitAttr:$corrected, F64Attr:$weight, DefaultValuedAttr<Rank_IntAttr, "1">:$turns);
  let assemblyFormat = [{
    $collective `(` $parameters `)` `step` $step `sum` $sum (`snapshot` $snapshot^)? `every` $every `delay` $delay `xi` $xi
    (`corrected` $corrected^)? `weight` $weight (`turns` $turns^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // STAGEWRIGHT_RANK_COLLECTIVE_OPS_TD
