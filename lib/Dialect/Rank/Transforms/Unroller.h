//===- Unroller.h - from the entry of a program to events -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates the index arithmetic of an entry for one number of microbatches and
// records what can wait or uses memory. Operations that it does not know are
// errors: a proof must cover the whole program. Private to this folder.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_RANK_TRANSFORMS_UNROLLER_H
#define STAGEWRIGHT_LIB_DIALECT_RANK_TRANSFORMS_UNROLLER_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "stagewright/Dialect/Rank/Transforms/ProgramMemory.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace stagewright::rank {

/// Evaluates one entry.
class Unroller {
public:
  Unroller(const llvm::StringMap<int32_t> &channels,
           const llvm::StringMap<int32_t> &sums, const SymbolTable &symbols,
           RankEvents &rank)
      : channels(channels), sums(sums), symbols(symbols), rank(rank) {}

  LogicalResult unroll(ProgramOp program, int64_t microbatches);

private:
  LogicalResult visit(Block &block);
  LogicalResult visit(Operation &op);
  LogicalResult visitLoop(scf::ForOp loop);
  LogicalResult visitTable(TableOp table);
  LogicalResult visitChoice(ChooseOp choice);
  void endRow();
  LogicalResult visitSwitch(scf::IndexSwitchOp choice);
  LogicalResult visitArithmetic(Operation &op);
  void visitReduce(AllReduceOp reduce);
  LogicalResult visitGather(AllGatherOp gather);
  LogicalResult checkSummed(Operation &op);
  LogicalResult checkGathered(Operation &op);
  LogicalResult checkGathered(Operation &op, Operation *use);

  int64_t value(Value index) { return values.lookup(index); }
  void add(EventKind kind, Operation *op, int32_t object, Value microbatch,
           int64_t bytes = 0) {
    rank.events.push_back({kind, action, object,
                           microbatch ? value(microbatch) : 0, actionMicrobatch,
                           bytes, op});
  }
  int32_t channel(FlatSymbolRefAttr name) {
    return channels.lookup(name.getValue());
  }

  int32_t callOf(CallOp call);

  const llvm::StringMap<int32_t> &channels, &sums;
  const SymbolTable &symbols;
  RankEvents &rank;
  DenseMap<Value, int64_t> values;
  DenseMap<Value, int32_t> stashes;
  /// Buffers of sums in progress, with the collective.
  llvm::SmallMapVector<Value, StringRef, 4> summed;
  /// Buffers of gathers, gathers of buffers, and the slots of gathers in
  /// progress.
  llvm::StringMap<Value> gathering;
  DenseMap<Value, StringRef> gatherOf;
  DenseSet<std::pair<Value, int64_t>> gathered;
  DenseMap<Operation *, int32_t> calls;
  SmallVector<int64_t> callBytes;
  LiveWorkspaces workspaces;
  char action = 0, lastAction = 0;
  int64_t actionMicrobatch = 0, actionStage = 0;
  ChooseOp chosen;
  int64_t turns = 0;
};

} // namespace stagewright::rank

#endif // STAGEWRIGHT_LIB_DIALECT_RANK_TRANSFORMS_UNROLLER_H
