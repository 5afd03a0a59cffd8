//===- RankMemoryOps.td - slots of buffers --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RANK_MEMORY_OPS_TD
#define STAGEWRIGHT_RANK_MEMORY_OPS_TD

include "Rank/RankDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"

def Rank_SlotOp : Rank_Op<"slot", [Pure]> {
  let summary = "the slot of a buffer";
  let description = [{
    Example:
    ```mlir
    %0 = rank.slot %w : memref<8x4xf32>
    %1 = rank.slot %x[%m] : memref<2x8xf32>
    ```
    Constraints:
    - (slot_c1) the result has the type of the buffer's slots;
    - (slot_c2) a microbatch is given where slots are chosen by it, and only there;
    - (slot_c3) the buffer is no workspace, and lies on the device.
  }];
  let arguments = (ins Rank_Buffer:$buffer, Optional<Index>:$microbatch);
  let results = (outs Rank_Memory:$slot);
  let assemblyFormat = "$buffer (`[` $microbatch^ `]`)? attr-dict `:` type($slot)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    BufferOp getBufferOp();
  }];
}

def Rank_AcquireOp : Rank_Op<"acquire"> {
  let summary = "the slot of a stash, whose life begins";
  let description = [{
    From here to the `rank.release` of the same microbatch the slot is held; between them `rank.slot` gives it again.

    Example:
    ```mlir
    %k = rank.acquire %stash[%m] : memref<2x4xf32>
    ```
    Constraints:
    - (acquire_c1) the buffer is a stash on the device, and the result has its type.
  }];
  let arguments = (ins Rank_Buffer:$buffer, Index:$microbatch);
  let results = (outs Rank_Memory:$slot);
  let assemblyFormat = "$buffer `[` $microbatch `]` attr-dict `:` type($slot)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    BufferOp getBufferOp();
  }];
}

def Rank_ReleaseOp : Rank_Op<"release"> {
  let summary = "end of the life of a stash slot";
  let description = [{
    Example:
    ```mlir
    rank.release %stash[%m]
    ```
    Constraints:
    - (release_c1) the buffer is a stash on the device.
  }];
  let arguments = (ins Rank_Buffer:$buffer, Index:$microbatch);
  let assemblyFormat = "$buffer `[` $microbatch `]` attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    BufferOp getBufferOp();
  }];
}

def Rank_ViewOp : Rank_Op<"view", [Pure]> {
  let summary = "a value at an offset of the workspace";
  let description = [{
    The offset counts bytes.

    Example:
    ```mlir
    %0 = rank.view %tmp[128] : memref<2x4xf32>
    ```
    Constraints:
    - (view_c1) the buffer is a workspace;
    - (view_c2) the offset is a multiple of 64, and the value lies within the workspace.
  }];
  let arguments = (ins Rank_Buffer:$workspace, Rank_IntAttr:$offset);
  let results = (outs Rank_Memory:$value);
  let assemblyFormat = "$workspace `[` $offset `]` attr-dict `:` type($value)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    BufferOp getBufferOp();
  }];
}

def Rank_RebaseOp : Rank_Op<"rebase", [Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "a view as a buffer that begins at the view's first element";
  let description = [{
    Kernels that work on views with different offsets are the same function if their arguments are rebased.

    Example:
    ```mlir
    %1 = rank.rebase %0 : memref<4x8xf32, strided<[32, 1], offset: 64>> to memref<4x8xf32, strided<[32, 1]>>
    ```
    Constraints:
    - (rebase_c1) the result has the shape, element type and strides of the source, and the offset 0;
    - (rebase_c2) the offset of the source is static.
  }];
  let arguments = (ins AnyMemRef:$source);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$source)>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The type of the result for a source of type `type`, with the identity layout if it has the same strides.
    static ::mlir::MemRefType typeFor(::mlir::MemRefType type);
  }];
}

//===----------------------------------------------------------------------===//
// Stashes that wait in the memory of the host
//===----------------------------------------------------------------------===//

class Rank_HostTransfer<string mnemonic> : Rank_Op<mnemonic> {
  let arguments = (ins Rank_Buffer:$source, Rank_Buffer:$target, Index:$microbatch);
  let assemblyFormat = "$source `to` $target `[` $microbatch `]` attr-dict";
  let hasVerifier = 1;
}

def Rank_OffloadOp : Rank_HostTransfer<"offload"> {
  let summary = "a stash slot goes to the host's memory";
  let description = [{
    Begins the copy and waits for nothing. The life of the slot on the device ends with the copy, that of the host's slot
    of the same microbatch begins: whoever acquires the device's slot next waits for the copy.

    Example:
    ```mlir
    rank.offload %k to %k_host[%m]
    ```
    Constraints:
    - (offload_c1) both buffers are stashes of one type, the source on the device and the target on the host.
  }];
}

def Rank_FetchOp : Rank_HostTransfer<"fetch"> {
  let summary = "a stash slot comes back from the host's memory";
  let description = [{
    Begins the copy and waits for nothing. The life of the slot on the device begins; that of the host's slot ends with
    the copy. `rank.fetched` waits for it, so a fetch that begins one action earlier overlaps with that action.

    Example:
    ```mlir
    rank.fetch %k_host to %k_back[%m]
    ```
    Constraints:
    - (fetch_c1) both buffers are stashes of one type, the source on the host and the target on the device.
  }];
}

def Rank_FetchedOp : Rank_Op<"fetched"> {
  let summary = "waits until a stash slot is back from the host's memory";
  let description = [{
    The slot stays held until its `rank.release`; a second `rank.fetched` of the same microbatch returns the same slot.

    Example:
    ```mlir
    %k = rank.fetched %k_back[%m] : memref<2x4xf32>
    ```
    Constraints:
    - (fetched_c1) the buffer is a stash on the device, and the result has its type.
  }];
  let arguments = (ins Rank_Buffer:$buffer, Index:$microbatch);
  let results = (outs Rank_Memory:$slot);
  let assemblyFormat = "$buffer `[` $microbatch `]` attr-dict `:` type($slot)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    BufferOp getBufferOp();
  }];
}

#endif // STAGEWRIGHT_RANK_MEMORY_OPS_TD
