//===- RankTransferOps.td - messages between ranks ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RANK_TRANSFER_OPS_TD
#define STAGEWRIGHT_RANK_TRANSFER_OPS_TD

include "Rank/RankDialect.td"
include "mlir/IR/SymbolInterfaces.td"

class Rank_TransferOp<string mnemonic, list<Trait> traits = []>
    : Rank_Op<mnemonic, traits # [DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def Rank_ClaimOp : Rank_TransferOp<"claim"> {
  let summary = "the sender obtains a slot of the receiver's ring";
  let description = [{
    Waits until the receive for (channel, microbatch) is posted, that is until the receiver has released what had
    the slot before: microbatch m - depth, where microbatches go in order. What is written into the slot is the message.

    Example:
    ```mlir
    %o = rank.claim @h0.F_0.to1[%m] : memref<2x4xf32>
    ```
    Constraints:
    - (claim_c1) the channel exists and begins at this rank;
    - (claim_c2) the result has the channel's type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$channel, Index:$microbatch);
  let results = (outs Rank_Memory:$slot);
  let assemblyFormat = "$channel `[` $microbatch `]` attr-dict `:` type($slot)";
}

def Rank_SendOp : Rank_TransferOp<"send"> {
  let summary = "the sender publishes a claimed slot";
  let description = [{
    Never waits. The slot is the receiver's from here on: the sender neither reads nor writes it.

    Example:
    ```mlir
    rank.send @h0.F_0.to1[%m]
    ```
    Constraints:
    - (send_c1) the channel exists and begins at this rank.
  }];
  let arguments = (ins FlatSymbolRefAttr:$channel, Index:$microbatch);
  let assemblyFormat = "$channel `[` $microbatch `]` attr-dict";
}

def Rank_RecvOp : Rank_TransferOp<"recv"> {
  let summary = "the receiver waits for a message and holds its slot";
  let description = [{
    Example:
    ```mlir
    %r = rank.recv @h0.F_0.to1[%m] : memref<2x4xf32>
    ```
    Constraints:
    - (recv_c1) the channel exists and ends at this rank;
    - (recv_c2) the result has the channel's type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$channel, Index:$microbatch);
  let results = (outs Rank_Memory:$slot);
  let assemblyFormat = "$channel `[` $microbatch `]` attr-dict `:` type($slot)";
}

def Rank_ReceivedOp : Rank_TransferOp<"received"> {
  let summary = "a message that the receiver already holds, once more";
  let description = [{
    The address that `rank.recv` of the same microbatch gave in an earlier action; waits for nothing.

    Example:
    ```mlir
    %r = rank.received @h0.F_0.to1[%m] : memref<2x4xf32>
    ```
    Constraints:
    - (received_c1) the channel exists and ends at this rank;
    - (received_c2) the result has the channel's type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$channel, Index:$microbatch);
  let results = (outs Rank_Memory:$slot);
  let assemblyFormat = "$channel `[` $microbatch `]` attr-dict `:` type($slot)";
}

def Rank_ReleaseChannelOp : Rank_TransferOp<"release_channel"> {
  let summary = "the receiver gives a slot back to the sender";
  let description = [{
    The slot's next receive is posted with it: the slot may be claimed for another microbatch.

    Example:
    ```mlir
    rank.release_channel @h0.F_0.to1[%m]
    ```
    Constraints:
    - (release_channel_c1) the channel exists and ends at this rank.
  }];
  let arguments = (ins FlatSymbolRefAttr:$channel, Index:$microbatch);
  let assemblyFormat = "$channel `[` $microbatch `]` attr-dict";
}

#endif // STAGEWRIGHT_RANK_TRANSFER_OPS_TD
