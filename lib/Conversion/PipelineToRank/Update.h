//===- Update.h - the optimizer, by rank ------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// @update is one function of all parameters, their gradients and the state of
// the optimizer. Every rank runs the part of it that belongs to the parameters
// it owns: a value belongs to an owner if it is made of that owner's values.
// Ranks that sum a gradient together own its parameter together: each of them
// updates its copy, with its copy of the state, and nothing is sent. What is
// made of nothing that belongs to an owner (a count of steps, a rate) every
// rank makes for itself.
//
// What is made of several owners' values belongs to all of them (the norm of
// all gradients, say). The first rank of each makes what goes into it and sends
// it to all that need it, numbers as one tensor, a pack; they make the rest
// from the packs of all, in the order of the function: every rank gets the same
// bits. What is made with such values may go into others: packs come in rounds.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_PIPELINETORANK_UPDATE_H
#define STAGEWRIGHT_CONVERSION_PIPELINETORANK_UPDATE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace stagewright::torank {

struct Plan;

/// One argument of @update.
struct UpdateArgument {
  llvm::StringRef role; ///< parameter, gradient, state or constant.
  std::string name;
  /// Of a parameter, and of state that the step reads: its argument of the
  /// graph. Of a gradient: its result.
  unsigned number = 0;
  bool ofStep = false;  ///< State that the step reads.
  int64_t position = 0; ///< Of state and constants: among the step's arguments.
  /// Of a part: which, and the attributes that say of what.
  std::optional<int64_t> slice;
  llvm::SmallVector<mlir::NamedAttribute> sliceFacts;
  /// Result of @update that replaces it, -1: none.
  int64_t replacedBy = -1;
};

/// What one rank sends to all others at once.
struct UpdatePack {
  int64_t from = 0, round = 0;
  mlir::RankedTensorType type; ///< A vector.
  /// Numbers, or one tensor of several elements.
  llvm::SmallVector<mlir::Value> values;
};

/// What one rank runs to make its packs of a round, or all that it updates;
/// values of @update by number.
struct UpdateCall {
  mlir::func::FuncOp body;              ///< Null: nothing to do.
  std::string node;                     ///< Its name in profiles and traces.
  llvm::SmallVector<unsigned> inputs;   ///< Arguments that are only read.
  llvm::SmallVector<unsigned> packs;    ///< After the inputs.
  llvm::SmallVector<unsigned> replaced; ///< Arguments, read and written.
  llvm::SmallVector<unsigned> made;     ///< Packs.
};

/// What one rank runs.
struct UpdatePart {
  std::vector<UpdateCall> rounds;
  UpdateCall last;

  /// Whether it reads pack `number`.
  bool reads(unsigned number) const;
};

struct Update {
  mlir::func::FuncOp function;
  llvm::SmallVector<UpdateArgument> arguments;
  llvm::SmallVector<UpdatePack> packs;
  std::vector<UpdatePart> parts; ///< By rank.
  /// Of each owner: its ranks, in increasing order.
  std::vector<llvm::SmallVector<int64_t>> owners;
  /// By value: the number of its owner, or one of these.
  static constexpr int64_t kFree = -2, kGlobal = -1;
  llvm::DenseMap<mlir::Value, int64_t> home;

  /// Where pack `number` lies in the workspace of its rank, before the memory
  /// of the functions themselves.
  int64_t offsetOf(unsigned number) const;
  int64_t packsEnd() const { return offsetOf(packs.size()); }

  bool owns(int64_t rank, int64_t owner) const {
    return llvm::is_contained(owners[owner], rank);
  }
  int64_t homeOf(mlir::Value value) const {
    auto found = home.find(value);
    return found == home.end() ? kFree : found->second;
  }
};

/// The roles of @update's arguments and results, what belongs to which rank,
/// and the packs (ReadUpdate.cpp).
mlir::FailureOr<Update> placeUpdate(const Plan &plan,
                                    mlir::func::FuncOp function);

/// Writes the parts' functions beside @update (CutUpdate.cpp).
void cutUpdate(int64_t numRanks, Update &update);

} // namespace stagewright::torank

#endif // STAGEWRIGHT_CONVERSION_PIPELINETORANK_UPDATE_H
