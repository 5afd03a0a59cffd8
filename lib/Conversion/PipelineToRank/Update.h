//===- Update.h - the optimizer, by rank ------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The function @update takes all parameters, their gradients and the state of
// the optimizer. Every rank runs the part for the parameters that it owns: a
// value belongs to an owner if it is computed from values of that owner. Ranks
// that sum a gradient together own its parameter together: each of them updates
// its copy, with its copy of the state, and nothing is sent. Values that depend
// on no owner (a count of steps, a rate) are computed by every rank.
//
// A value that depends on several owners is global (the norm of all gradients).
// The first rank of each owner computes that owner's contribution and sends it
// to all ranks that need it; numbers are sent as one tensor, a pack. The ranks
// compute the rest from all packs, in the order of the function, so that all
// get the same bits. Further packs may depend on global values, so packs are
// sent in rounds.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_PIPELINETORANK_UPDATE_H
#define STAGEWRIGHT_CONVERSION_PIPELINETORANK_UPDATE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"

namespace stagewright::torank {

struct Plan;

/// One argument of @update.
struct UpdateArgument {
  /// Parameter, gradient, state or constant.
  pipeline::Role role = pipeline::Role::Parameter;
  std::string name;
  /// Parameter, or state that the step reads: its argument of the graph.
  /// Gradient: its result of the graph.
  unsigned number = 0;
  bool ofStep = false;  ///< State that the step reads.
  int64_t position = 0; ///< State, constants: its argument of the step.
  /// If it is a slice: its number, and the attributes that describe it.
  std::optional<int64_t> slice;
  llvm::SmallVector<mlir::NamedAttribute> sliceFacts;
  /// Result of @update that replaces it, -1: none.
  int64_t replacedBy = -1;
};

/// Values of one owner that a rank sends to the others in one message.
struct UpdatePack {
  int64_t owner = 0, round = 0; ///< Of its values.
  mlir::RankedTensorType type;  ///< A vector.
  /// Numbers, or one tensor of several elements.
  llvm::SmallVector<mlir::Value> values;
};

/// A call by which one rank makes its packs of a round, or updates all that it
/// owns. Members list arguments of @update and packs by their numbers.
struct UpdateCall {
  mlir::func::FuncOp body;              ///< Null: nothing to do.
  std::string node;                     ///< Its name in profiles and traces.
  llvm::SmallVector<unsigned> inputs;   ///< Arguments that are only read.
  llvm::SmallVector<unsigned> packs;    ///< Packs read, after the inputs.
  llvm::SmallVector<unsigned> replaced; ///< Arguments, read and written.
  llvm::SmallVector<unsigned> made;     ///< Packs that are written.
};

/// The calls of one rank.
struct UpdatePart {
  std::vector<UpdateCall> rounds;
  UpdateCall last;

  /// Whether it reads pack `number`.
  bool reads(unsigned number) const;
};

struct Update {
  mlir::func::FuncOp function;
  llvm::SmallVector<UpdateArgument> arguments;
  int64_t nextPosition = 0; ///< After all arguments of the step.
  llvm::SmallVector<UpdatePack> packs;
  std::vector<UpdatePart> parts; ///< By rank.
  /// By owner: its ranks, in increasing order.
  std::vector<llvm::SmallVector<int64_t>> owners;
  /// By rank: the number of its replica, if replicas update parameters of their
  /// own; else empty. Values are then sent within a replica only.
  std::vector<int64_t> replicaOfRank;
  /// By value: the number of its owner; kFree: none, kGlobal: several.
  static constexpr int64_t kFree = -2, kGlobal = -1;
  llvm::DenseMap<mlir::Value, int64_t> home;

  /// The offset of pack `number` in the workspace of its rank, before the
  /// memory of the functions themselves.
  int64_t offsetOf(unsigned number) const;
  int64_t packsEnd() const { return offsetOf(packs.size()); }

  /// The rank whose `pack` is read by rank `to`: the first of the owner, or the
  /// one of the same replica.
  int64_t senderOf(const UpdatePack &pack, int64_t to) const {
    for (int64_t rank : owners[pack.owner])
      if (!replicaOfRank.empty() && replicaOfRank[rank] == replicaOfRank[to])
        return rank;
    return owners[pack.owner].front();
  }

  bool owns(int64_t rank, int64_t owner) const {
    return llvm::is_contained(owners[owner], rank);
  }
  int64_t homeOf(mlir::Value value) const {
    auto found = home.find(value);
    return found == home.end() ? kFree : found->second;
  }
};

/// Reads the roles of @update's arguments and results, and finds owners and
/// packs (ReadUpdate.cpp).
mlir::FailureOr<Update> placeUpdate(const Plan &plan,
                                    mlir::func::FuncOp function);

/// Writes the functions of all parts beside @update (CutUpdate.cpp).
void cutUpdate(int64_t numRanks, Update &update);

} // namespace stagewright::torank

#endif // STAGEWRIGHT_CONVERSION_PIPELINETORANK_UPDATE_H
