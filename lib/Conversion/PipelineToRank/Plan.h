//===- Plan.h - what the lowering decides before it writes ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where every value of a graph lives and how it travels, for the stages of a
// program and the order of a schedule. Decided once for all microbatches,
// because every microbatch runs the same actions; Emit.cpp then writes it down.
//
// A value has one home, which its body writes: the slot of an output, else of a
// stash (it is used by a later action of the rank), else of a channel (only
// other ranks use it), else the workspace. Every further place gets a copy. A
// slot that is sent belongs to the receiver, so a value that its own action
// reads as well is copied.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_PIPELINETORANK_PLAN_H
#define STAGEWRIGHT_CONVERSION_PIPELINETORANK_PLAN_H

#include "stagewright/Conversion/PipelineToRank/Passes.h"
#include "stagewright/Scheduling/Segments.h"
#include "stagewright/Simulation/RingDepths.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace stagewright::torank {

/// What runs as one action: a kind of work of a stage, for any microbatch.
struct ActionKey {
  ActionKind kind = ActionKind::Forward;
  int64_t stage = 0;

  friend auto operator<=>(const ActionKey &, const ActionKey &) = default;
};

/// One node in its action.
struct NodePlan {
  pipeline::NodeOp node;
  /// Results that the body writes to a slot, in order.
  mlir::SmallVector<unsigned> written;
  /// Results that the body adds to an accumulator: (result of the node, result
  /// of the step).
  mlir::SmallVector<std::pair<unsigned, int64_t>> accumulated;
  /// First byte of the workspace behind every value that lives during the call.
  int64_t workspaceTop = 0;
};

/// The nodes of an action, in the order in which they run.
struct ActionPlan {
  int64_t rank = 0;
  int64_t place = 0; ///< Among the actions of one microbatch on its rank.
  mlir::SmallVector<NodePlan> nodes;
  /// Results of the step that are arguments of the graph, taken at the end of
  /// this action.
  mlir::SmallVector<int64_t> passedThrough;
};

enum class Home { Workspace, Output, Stash, Channel };

/// A value that a node makes.
struct ValuePlan {
  ActionKey made;
  unsigned madeAt = 0; ///< Position of its node in the action.
  Home home = Home::Workspace;
  unsigned lastHere =
      0;              ///< Position of its last use in the action that makes it.
  int64_t offset = 0; ///< In the workspace.
  /// Later actions of its rank: the last of them, and the position in it.
  std::optional<ActionKey> lastLater;
  unsigned lastLaterAt = 0;
  RingDepth stashDepth;
  mlir::SmallVector<unsigned> channels;
  /// Results of the step that keep it for every microbatch (or the last); the
  /// first may be its home.
  mlir::SmallVector<int64_t> outputs;
};

/// A value on its way to a stage of another rank.
struct ChannelPlan {
  mlir::Value value;
  std::string name;
  int64_t from = 0, to = 0, stage = 0;
  ActionKey first, last;
  unsigned lastAt = 0; ///< Position of the last use in `last`.
  RingDepth depth;
};

/// A sum over microbatches: the (part of the) result of the step that `stage`
/// adds up.
struct AccumulatorPlan {
  int64_t result = 0;
  int64_t stage = 0;
  bool owner = false; ///< The result itself; else a part that the owner adds.
};

/// Everything that is decided.
struct Plan {
  pipeline::GraphOp graph;
  pipeline::ProgramOp program;
  pipeline::ScheduleOp schedule;
  std::vector<std::vector<Segment>> segments; ///< Per rank.
  std::vector<int64_t> rankOfStage;
  std::vector<std::string> deviceOfRank;
  std::map<ActionKey, ActionPlan> actions;
  llvm::MapVector<mlir::Value, ValuePlan> values;
  std::vector<ChannelPlan> channels;
  std::vector<AccumulatorPlan> accumulators; ///< By result, then stage.
  std::vector<int64_t> rankOfResult;
  std::vector<int64_t> workspaceOfRank; ///< Bytes.

  ActionKey keyOf(pipeline::NodeOp node) const { return keys.lookup(node); }
  int64_t rankOf(const ActionKey &key) const { return rankOfStage[key.stage]; }
  /// How result `index` of the step is joined over microbatches.
  mlir::StringRef combineOf(int64_t index) const;
  bool isAccumulated(int64_t index) const {
    return combineOf(index) == "mean" || combineOf(index) == "sum";
  }

  llvm::DenseMap<mlir::Operation *, ActionKey> keys;
  mlir::SmallVector<int64_t> stageOfLayer;
  ScheduleFamily family;
};

/// Reads program and schedule: ranks, segments, the nodes of every action
/// (Plan.cpp).
mlir::FailureOr<Plan> readSchedule(mlir::ModuleOp module);

/// Finds a home for every value and the channels, accumulators and depths
/// (Places.cpp).
mlir::LogicalResult placeValues(Plan &plan);

/// Places values in the workspace of their rank (Workspace.cpp).
void placeInWorkspace(Plan &plan);

/// The body of `node` that writes `written` and adds `accumulated` to its last
/// arguments; made where it does not exist yet (Accumulate.cpp). `made` keeps
/// those that do.
using Variants = std::map<
    std::tuple<mlir::Operation *, std::vector<unsigned>, std::vector<unsigned>>,
    mlir::func::FuncOp>;
mlir::FailureOr<mlir::func::FuncOp>
getVariant(const NodePlan &node, mlir::SymbolTable &symbols, Variants &made);

/// Counts for the pass's statistics.
struct EmitStatistics {
  int64_t channels = 0, stashes = 0, copies = 0, accumulated = 0;
};

/// Writes step, channels and programs (Emit.cpp); erases what they replace.
mlir::FailureOr<EmitStatistics> emitPrograms(mlir::ModuleOp module,
                                             const Plan &plan);

} // namespace stagewright::torank

#endif // STAGEWRIGHT_CONVERSION_PIPELINETORANK_PLAN_H
