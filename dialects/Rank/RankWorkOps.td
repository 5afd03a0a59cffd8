//===- RankWorkOps.td - calls, and what is done to slots ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RANK_WORK_OPS_TD
#define STAGEWRIGHT_RANK_WORK_OPS_TD

include "Rank/RankDialect.td"
include "mlir/IR/SymbolInterfaces.td"

def Rank_CallOp : Rank_Op<"call", [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a stage function on slots";
  let description = [{
    Destination passing: result k of the function is written to `outs[k]`. The accumulators are the last arguments of the
    function and, with something added, its last results; `accumulate[k]` is read and written in place. `workspace %tmp[offset,
    bytes]` says where the function's own workspace begins and how many bytes it needs (0 until `body-size-workspaces` has sized
    it); it overlaps no value that is live during the call. `node` is the node of the graph.

    Example:
    ```mlir
    rank.call @layer1.B.acc ins(%k, %y : memref<2x4xf32>, memref<2x4xf32>) outs(%dh : memref<2x8xf32>)
        accumulate(%dw : memref<8x4xf32>) workspace %tmp[128, 0] node "layer1.B"
    ```
    Constraints:
    - (call_c1) the callee is a function;
    - (call_c2) a function on tensors takes ins, then accumulators, and returns outs, then accumulators;
    - (call_c3) exactly its accumulator arguments carry `rank.accumulate`;
    - (call_c4) the workspace is a buffer of kind `workspace`; its offset is a multiple of 64, and neither offset nor
      bytes are negative.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Rank_Memory>:$inputs, Variadic<Rank_Memory>:$outputs,
                       Variadic<Rank_Memory>:$accumulators, Optional<Rank_Buffer>:$workspace,
                       DefaultValuedAttr<Rank_IntAttr, "0">:$workspace_offset,
                       DefaultValuedAttr<Rank_IntAttr, "0">:$workspace_bytes, StrAttr:$node);
  let assemblyFormat = [{
    $callee (`ins` `(` $inputs^ `:` type($inputs) `)`)? (`outs` `(` $outputs^ `:` type($outputs) `)`)?
    (`accumulate` `(` $accumulators^ `:` type($accumulators) `)`)?
    (`workspace` $workspace^ `[` $workspace_offset `,` $workspace_bytes `]`)? `node` $node attr-dict
  }];
}

def Rank_ZeroOp : Rank_Op<"zero"> {
  let summary = "fills a slot with zeros";
  let description = [{
    Example:
    ```mlir
    rank.zero %dw : memref<8x4xf32>
    ```
  }];
  let arguments = (ins Rank_Memory:$target);
  let assemblyFormat = "$target attr-dict `:` type($target)";
}

def Rank_CopyOp : Rank_Op<"copy", [SameTypeOperands]> {
  let summary = "copies one slot to another";
  let description = [{
    Example:
    ```mlir
    rank.copy %h to %o : memref<2x4xf32>
    ```
  }];
  let arguments = (ins Rank_Memory:$source, Rank_Memory:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source)";
}

def Rank_AddOp : Rank_Op<"add", [SameTypeOperands]> {
  let summary = "adds one slot into another";
  let description = [{
    Example:
    ```mlir
    rank.add %part into %dw : memref<8x4xf32>
    ```
  }];
  let arguments = (ins Rank_Memory:$source, Rank_Memory:$target);
  let assemblyFormat = "$source `into` $target attr-dict `:` type($source)";
}

def Rank_CombineOp : Rank_Op<"combine"> {
  let summary = "turns the sum over microbatches into the result of the step";
  let description = [{
    `sum` leaves it, `mean` divides it by the number of microbatches. With `scale` the result is also multiplied by it:
    a replica that updates its own parameters needs the gradient of its own samples, and its part of the sum is that
    gradient times their share of all samples.

    Example:
    ```mlir
    rank.combine mean %dw over %M : memref<8x4xf32>
    rank.combine mean %dw over %M scale 4.0 : memref<8x4xf32>
    ```
    Constraints:
    - (combine_c1) a mean is of floats, and so is what is scaled.
  }];
  let arguments = (ins Rank_Combine:$combine, Rank_Memory:$target, Index:$count, OptionalAttr<F64Attr>:$scale);
  let assemblyFormat = "$combine $target `over` $count (`scale` $scale^)? attr-dict `:` type($target)";
  let hasVerifier = 1;
}

#endif // STAGEWRIGHT_RANK_WORK_OPS_TD
