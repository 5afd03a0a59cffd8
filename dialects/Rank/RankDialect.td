//===- RankDialect.td - how one rank runs ---------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RANK_DIALECT_TD
#define STAGEWRIGHT_RANK_DIALECT_TD

include "Pipeline/ActionKind.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def RankDialect : Dialect {
  let name = "rank";
  let cppNamespace = "::stagewright::rank";
  let summary = "Programs of the ranks: memory, transfers, calls";
  let description = [{
    One `rank.program` per rank says everything that the rank does in one step: which memory it holds
    (`rank.buffer`), which actions it runs in which order (`rank.entry`, loops over microbatches, `rank.action`),
    what it sends and receives (`rank.channel`), and which stage function works on which slot (`rank.call`).

    The number of microbatches is an argument of the program: the bounds of its loops are computed from it, so one
    text serves every number. A program made for one order of one number of microbatches says `only`; where the order
    does not repeat, a `rank.table` holds it. A ring of depth d keeps microbatch (or message) m in slot m mod d.

    The dialect also owns the argument attribute `rank.accumulate` of a stage function: the argument is an
    accumulator, the function returns it with something added, and both are one buffer.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Marks the accumulator arguments of a stage function.
    static constexpr llvm::StringLiteral kAccumulate = "rank.accumulate";
    /// On a stage function: max bytes of its temporaries that are live at once,
    /// a lower bound of its workspace.
    static constexpr llvm::StringLiteral kWorkspaceBound = "rank.workspace_bound";
    /// On a module: the plan of its rank programs, for reports. On a `gpu.func`:
    /// its launch.
    static constexpr llvm::StringLiteral kPlan = "rank.plan", kKernel = "rank.kernel";
    /// Marks arguments and results of a step that are state of averages over
    /// replicas, not of the model: they are 0 at first.
    static constexpr llvm::StringLiteral kAveraging = "rank.averaging";
    /// Depth of a ring that has one slot per microbatch. A ring of depth
    /// n * kAll has one slot for every n-th microbatch.
    static constexpr int64_t kAll = -1;
    /// Every slot begins at a multiple of this many bytes.
    static constexpr int64_t kAlignment = 64;
  }];
}

class Rank_Op<string mnemonic, list<Trait> traits = []>
    : Op<RankDialect, mnemonic, traits>;

/// A count, a number or a position: signed, so that a verifier sees -1 as -1.
def Rank_IntAttr : TypedSignlessIntegerAttrBase<I64, "int64_t", "64-bit integer">;

def Rank_BufferKind : I32EnumAttr<"BufferKind", "what a buffer is for", [
    I32EnumAttrCase<"Parameter", 0, "parameter">, I32EnumAttrCase<"Constant", 1, "constant">,
    I32EnumAttrCase<"Seed", 2, "seed">, I32EnumAttrCase<"State", 3, "state">,
    I32EnumAttrCase<"Batch", 4, "batch">, I32EnumAttrCase<"Microbatch", 5, "microbatch">,
    I32EnumAttrCase<"Gradient", 6, "gradient">, I32EnumAttrCase<"Accumulator", 7, "accumulator">,
    I32EnumAttrCase<"Output", 8, "output">, I32EnumAttrCase<"Stash", 9, "stash">,
    I32EnumAttrCase<"Workspace", 10, "workspace">]> {
  let cppNamespace = "::stagewright::rank";
}

def Rank_ActionKindAttr : Stagewright_ActionKindAttr<RankDialect, "ActionKind", "action_kind"> {
  let summary = "What an action does";
}

def Rank_Combine : I32EnumAttr<"Combine", "how microbatches are joined in an accumulator", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">]> {
  let cppNamespace = "::stagewright::rank";
}

def Rank_Buffer : TypeDef<RankDialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "memory that a rank holds, as `rank.buffer` declares it";
}

/// One slot: contiguous, of known size, without a layout.
def Rank_Memory : Type<CPred<[{
    ::llvm::isa<::mlir::MemRefType>($_self) && ::llvm::cast<::mlir::MemRefType>($_self).hasStaticShape() &&
    ::llvm::cast<::mlir::MemRefType>($_self).getLayout().isIdentity() &&
    !::llvm::cast<::mlir::MemRefType>($_self).getMemorySpace()}]>,
    "memref of static shape with identity layout", "::mlir::MemRefType">;

def Rank_MemoryTypeAttr : TypeAttrBase<"::mlir::MemRefType", "memref type of one slot"> {
  let returnType = "::mlir::MemRefType";
  let convertFromStorage = "::llvm::cast<::mlir::MemRefType>($_self.getValue())";
}

#endif // STAGEWRIGHT_RANK_DIALECT_TD
