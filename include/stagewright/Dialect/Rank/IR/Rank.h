//===- Rank.h - the rank dialect in C++ -------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations, attributes, types and enums of dialects/Rank. The TableGen files
// describe them and their constraints.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_RANK_IR_RANK_H
#define STAGEWRIGHT_DIALECT_RANK_IR_RANK_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include <map>

#include "stagewright/Dialect/Actions.h"
#include "stagewright/Dialect/LLVM.h"
#include "stagewright/Dialect/Rank/IR/RankDialect.h.inc"
#include "stagewright/Dialect/Rank/IR/RankEnums.h.inc"

namespace stagewright::pipeline {
class AveragingAttr;
class PlanAttr;
} // namespace stagewright::pipeline

#define GET_ATTRDEF_CLASSES
#include "stagewright/Dialect/Rank/IR/RankAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "stagewright/Dialect/Rank/IR/RankTypes.h.inc"

namespace stagewright::rank {

/// Bytes of one slot of `type`, without padding; an i1 takes one byte.
int64_t getSlotBytes(mlir::ShapedType type);

/// The name of an element type in manifests; empty for a type that no file of
/// tensors can hold.
llvm::StringRef getElementName(mlir::Type type);

/// Bytes from one slot of `type` to the next: `getSlotBytes` rounded up to the
/// alignment of slots.
int64_t getSlotStride(mlir::MemRefType type);

/// The bytes [begin, end) of a workspace.
struct WorkspaceRange {
  int64_t begin = 0, end = 0;
};

/// Slots of a ring of `depth` for `microbatches` microbatches. The depth
/// `RankDialect::kAll` means a slot for every microbatch, n times kAll a slot
/// for every n-th.
int64_t getSlotCount(int64_t depth, int64_t microbatches);

} // namespace stagewright::rank

#define GET_OP_CLASSES
#include "stagewright/Dialect/Rank/IR/RankOps.h.inc"

namespace stagewright::rank {

/// The ranges of the workspace that are live during each call of a block,
/// without placed stashes: the values of the block, from the first operation
/// that uses them to the last, and then the call's own workspace.
class LiveWorkspace {
public:
  explicit LiveWorkspace(mlir::Block &block);

  llvm::ArrayRef<WorkspaceRange> of(CallOp call) const {
    return ofCalls.find(call)->second;
  }
  int64_t bytesOf(CallOp call) const;

private:
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<WorkspaceRange>> ofCalls;
};

/// A cache of LiveWorkspace by block. The blocks must not change during its
/// lifetime.
class LiveWorkspaces {
public:
  const LiveWorkspace &of(mlir::Block *block);

private:
  llvm::DenseMap<mlir::Block *, std::unique_ptr<LiveWorkspace>> ofBlocks;
};

} // namespace stagewright::rank

#endif // STAGEWRIGHT_DIALECT_RANK_IR_RANK_H
