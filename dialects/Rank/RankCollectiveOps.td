//===- RankCollectiveOps.td - sums over ranks -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RANK_COLLECTIVE_OPS_TD
#define STAGEWRIGHT_RANK_COLLECTIVE_OPS_TD

include "Rank/RankDialect.td"
include "mlir/IR/SymbolInterfaces.td"

def Rank_CollectiveOp : Rank_Op<"collective", [Symbol]> {
  let summary = "a sum over some ranks, once per step";
  let description = [{
    Every rank `among` them has one bucket: buffers that lie one after the other, each rounded up to the alignment of
    slots. The type is that of a whole bucket. Afterwards all buckets hold the same bits.

    Example:
    ```mlir
    rank.collective @sum.0 among [0, 3] : memref<48xf32>
    ```
    Constraints:
    - (collective_c1) at least two ranks, not negative and in increasing order;
    - (collective_c2) a bucket is a vector of floats or of integers of at least 8 bits.
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
    Begins the sum and waits for nobody; until `rank.await_reduced` of the same collective the buffers are neither read
    nor written. With `at %m of %last` it does so where both are equal, and nothing elsewhere: inside a loop, at the
    action that adds for the last time.

    Ranks begin the sums that they have in common in one order, which is also that in which engines match them.

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
  let summary = "waits until a sum over ranks is there";
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

#endif // STAGEWRIGHT_RANK_COLLECTIVE_OPS_TD
