//===- Plan.h - what the lowering decides before it writes ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where every value of a graph lives and how it travels, for the stages of a
// program and the order of a schedule. Decided once for all microbatches that
// take the same route, the ranks and actions that a microbatch goes through;
// Emit/ then writes it down.
//
// Where the replicas of every stage take microbatches in turn, p pipelines run
// side by side: microbatch m is number m / p of pipeline m % p, and orders,
// slots and messages count within it. Routes apart count by turns of their own.
//
// Most schedules have one route. Where a stage lies on several ranks, or runs
// its forward again for some microbatches only, every further route gets a copy
// of the graph's nodes (Routes.cpp). From then on each copy of a stage is a
// stage of its own: copy c of stage s has the number c * numStages + s, lies on
// one rank and runs the same actions for all its microbatches.
//
// A value has one home, which its body writes: the slot of an output, else of a
// stash (a later action of the rank uses it; every stage that does has its
// own), else of a channel (only other ranks use it), else the workspace. Every
// further place gets a copy. A slot that is sent belongs to the receiver, so a
// value that its own action reads as well is copied.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_PIPELINETORANK_PLAN_H
#define STAGEWRIGHT_CONVERSION_PIPELINETORANK_PLAN_H

#include "Update.h"
#include "stagewright/Conversion/PipelineToRank/Passes.h"
#include "stagewright/Scheduling/Segments.h"
#include "stagewright/Simulation/OrderDepths.h"
#include "stagewright/Simulation/RingDepths.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace stagewright::torank {

/// What runs as one action: a kind of work of a stage, for any microbatch. Of a
/// stage that runs I and W apart for some microbatches, B is I, then W.
struct ActionKey {
  ActionKind kind = ActionKind::Forward;
  int64_t stage = 0; ///< Number of the copy.

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
  mlir::SmallVector<NodePlan> nodes;
  /// Results of the step that are arguments of the graph, taken at the end of
  /// this action.
  mlir::SmallVector<int64_t> passedThrough;
};

enum class Home { Workspace, Output, Stash, Channel };

/// A value kept for later actions of one stage of its rank.
struct StashPlan {
  int64_t stage = 0; ///< Which uses it.
  ActionKey last;
  unsigned lastAt = 0; ///< Position of the last use in `last`.
  RingDepth depth;
  ActionKey first = {}; ///< Uses it first.
  /// It waits on the host. Its slots on the device are then two rings: `depth`
  /// of what forwards write, `back` of what is there for backwards again; the
  /// host has `onHost`.
  bool offloaded = false;
  RingDepth onHost = {}, back = {};
};

/// A value that a node makes.
struct ValuePlan {
  ActionKey made;
  unsigned madeAt = 0; ///< Position of its node in the action.
  Home home = Home::Workspace;
  unsigned lastHere =
      0;              ///< Position of its last use in the action that makes it.
  int64_t offset = 0; ///< In the workspace.
  mlir::SmallVector<StashPlan, 1> stashes; ///< The first may be its home.
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

/// The order of one rank: loops, or a table where it does not repeat. Its
/// numbers are those of the microbatches within the rank's pipeline.
struct RankOrder {
  std::vector<Segment> loops;
  std::vector<std::pair<ActionKey, int64_t>> rows; ///< With microbatches.
};

/// A sum over microbatches: the (part of the) result of the step that `stage`
/// adds up.
struct AccumulatorPlan {
  int64_t result = 0;
  int64_t stage = 0;
  bool owner = false; ///< The result itself; else a part that the owner adds.
};

/// Gradients that ranks sum together, in one range of bytes on each of them.
struct BucketPlan {
  mlir::SmallVector<int64_t> ranks; ///< In increasing order.
  mlir::SmallVector<int64_t> results;
  /// Where a rank begins the sum: behind the last node that adds to it, else
  /// at the end of the step.
  struct Start {
    bool atEnd = true;
    ActionKey key;
    unsigned position = 0;
    int64_t last = 0; ///< Microbatch.
  };
  std::map<int64_t, Start> starts; ///< By rank.
};

/// Everything that is decided.
struct Plan {
  pipeline::GraphOp graph;
  pipeline::ProgramOp program;
  pipeline::ScheduleOp schedule;
  Schedule data;         ///< What `schedule` says.
  StageGraph stageGraph; ///< Of `program`, without copies.
  /// Where a generator knows the order for every number of microbatches, with
  /// one stage per rank, the order of one pipeline; else the program runs
  /// `data` alone.
  std::optional<ScheduleFamily> family;
  /// Pipelines side by side, which share no rank.
  int64_t pipelines = 1;
  std::vector<int64_t> pipelineOfRank;
  int64_t numStages = 0; ///< Of the program.
  /// By copy: its microbatches, in increasing order.
  std::vector<std::vector<int64_t>> microbatchesOf;
  std::vector<bool> splits; ///< By stage: runs I and W apart.
  /// By copy of a stage: whether its backwards go through its turns one by one,
  /// and each forward of a turn comes before the backward of the turn before,
  /// so that stashes can be fetched one turn ahead.
  std::vector<bool> fetchesAhead;
  std::vector<RankOrder> orders;    ///< Per rank.
  std::vector<int64_t> rankOfStage; ///< By number of the copy.
  std::vector<std::string> deviceOfRank;
  /// Of each rank, counted as the ranks meet them; empty where all share one.
  std::vector<int64_t> hostOfRank;
  std::map<ActionKey, ActionPlan> actions;
  llvm::MapVector<mlir::Value, ValuePlan> values;
  std::vector<ChannelPlan> channels;
  std::vector<AccumulatorPlan> accumulators; ///< By result, then stage.
  std::vector<BucketPlan> buckets;     ///< In the order in which they begin.
  std::vector<int64_t> bucketOfResult; ///< -1: has an owner that adds parts.
  std::vector<int64_t> rankOfResult;
  std::vector<int64_t> workspaceOfRank; ///< Bytes.
  std::optional<Update> update;         ///< The optimizer, if there is one.

  ActionKey keyOf(pipeline::NodeOp node) const { return keys.lookup(node); }
  int64_t rankOf(const ActionKey &key) const { return rankOfStage[key.stage]; }
  int64_t numRanks() const { return orders.size(); }
  int64_t numCopies() const { return microbatchesOf.size(); }
  /// The stage of the program that copy `stage` is of.
  int64_t stageNumber(int64_t stage) const { return stage % numStages; }
  /// Copy `copy` runs every so many-th microbatch from one number on, 1 where
  /// they follow no such rule. Its slots count them.
  int64_t strideOf(int64_t copy) const;
  /// Microbatches of the pipeline of `rank`.
  int64_t microbatchesOfRank(int64_t rank) const;
  /// `1`, or `1.copy2`: for names.
  std::string nameOfStage(int64_t stage) const;
  /// A number that copies of a stage, and its replicas by slices, have alike.
  int64_t originalStage(int64_t stage) const;
  /// The accumulator of `rank` that holds its part of result `index`, or the
  /// sum over ranks: the owner's, else the first.
  unsigned accumulatorOf(int64_t index, int64_t rank) const {
    return sumsOf(index, rank).first;
  }
  /// What `rank` adds up of result `index`.
  struct Sums {
    int64_t count = 0;
    unsigned first = ~0u; ///< accumulatorOf()
  };
  Sums sumsOf(int64_t index, int64_t rank) const {
    return sums.lookup({index, rank});
  }
  /// The first copy of the same stage on the same rank: copies that share a
  /// rank share its sums.
  int64_t summingStage(int64_t stage) const;
  /// What an action of the schedule runs, one after the other.
  mlir::SmallVector<ActionKey, 2> partsOf(const ActionKey &action) const;
  /// How result `index` of the step is joined over microbatches.
  mlir::StringRef combineOf(int64_t index) const;
  bool isAccumulated(int64_t index) const {
    return combineOf(index) == "mean" || combineOf(index) == "sum";
  }

  /// Whether `rank` reads `argument` of the graph, or passes it through.
  bool reads(int64_t rank, mlir::BlockArgument argument) const {
    return readBy.contains({rank, int64_t(argument.getArgNumber())});
  }

  llvm::DenseMap<mlir::Operation *, ActionKey> keys;
  mlir::SmallVector<int64_t> stageOfLayer;
  /// By stage of the program: its number, or -1 - that of what it was before
  /// its replicas became stages.
  mlir::SmallVector<int64_t> replicaOf;
  /// By result and rank, and by rank and argument: what the loops over all
  /// ranks ask for.
  llvm::DenseMap<std::pair<int64_t, int64_t>, Sums> sums;
  llvm::DenseSet<std::pair<int64_t, int64_t>> readBy;
  /// Of nodes: 0 where there is none.
  llvm::DenseMap<mlir::Operation *, int64_t> copyOf;
};

/// Reads program and schedule: ranks, orders, the nodes of every action
/// (Plan.cpp).
mlir::FailureOr<Plan> readSchedule(mlir::ModuleOp module);

/// Finds the routes of `plan.data`, makes a copy of the nodes for every further
/// one, and the nodes of phase R (Routes.cpp).
mlir::LogicalResult makeRoutes(Plan &plan);

/// Puts orders and devices of the ranks into the plan (Orders.cpp).
void readOrders(Plan &plan);

/// The order of `rank` in terms of copies, with the numbers of its pipeline.
/// Pairs run one after the other, and updates at the end of the step
/// (Orders.cpp).
Order orderOfCopies(const Plan &plan, int64_t rank);

/// Which gradients ranks sum together, and when they begin (Buckets.cpp). A
/// bucket ends with the gradient that makes it `bytes` long or longer; 0: none.
void chooseBuckets(Plan &plan, int64_t bytes);

/// Finds a home for every value and the channels and accumulators
/// (Places.cpp), then depths.
mlir::LogicalResult placeValues(Plan &plan);

/// Marks the stashes that wait on the host (Offload.cpp).
void chooseOffload(Plan &plan);

/// Gives offloaded stashes their slots, once those are known that they would
/// have on the device (Offload.cpp). `betweenUses`: slots from the first use of
/// a stash to its last.
void chooseOffloadDepths(
    Plan &plan,
    llvm::function_ref<RingDepth(const StashPlan &stash)> betweenUses);

/// Gives every channel and stash of `plan` its slots (Depths.cpp).
mlir::LogicalResult chooseDepths(Plan &plan);

/// Places values in the workspace of their rank (Workspace.cpp).
void placeInWorkspace(Plan &plan);

/// Cuts @update, if the module has it (ReadUpdate.cpp, CutUpdate.cpp); after
/// placeInWorkspace.
mlir::LogicalResult readUpdate(mlir::ModuleOp module, Plan &plan);

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
  int64_t channels = 0, stashes = 0, offloaded = 0, copies = 0, accumulated = 0;
};

/// Writes step, channels and programs (Emit/); erases what they replace.
mlir::FailureOr<EmitStatistics> emitPrograms(mlir::ModuleOp module,
                                             const Plan &plan);

} // namespace stagewright::torank

#endif // STAGEWRIGHT_CONVERSION_PIPELINETORANK_PLAN_H
