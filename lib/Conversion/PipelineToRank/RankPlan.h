//===- RankPlan.h - decisions of the lowering to ranks ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan decides where the memory of every value of a graph is and how the
// value is sent, for the stages of a program and the order of a schedule. A
// route is the sequence of ranks and actions that a microbatch takes; the plan
// is the same for all microbatches of a route. Emit/ then writes the rank
// programs.
//
// If the replicas of every stage take microbatches in turn, p pipelines run in
// parallel: microbatch m is number m / p of pipeline m % p, and orders, slots
// and messages use the number within the pipeline. Without parallel pipelines,
// the microbatches of a route have numbers of their own: m / d, if their
// distance d is constant. The number that selects slots and messages is called
// a turn.
//
// Most schedules have one route. If a stage is on several ranks, or runs its
// forward again for some microbatches only, every further route gets a copy of
// the graph's nodes (Routes.cpp). After that each copy of a stage is a stage of
// its own: copy c of stage s has number c * numStages + s, is on one rank and
// runs the same actions for all its microbatches.
//
// A value has one home, which the body of its node writes: the slot of an
// output (unless it keeps only the last microbatch and a later action uses the
// value), else of a stash (if a later action of the rank uses the value; each
// stage that uses it has a stash of its own), else of a channel (if only other
// ranks use it), else the workspace. Every other place of the value gets a
// copy. A sent slot belongs to the receiver, so a value that its own action
// also reads is copied to the channel.
//
// Joins and scatters of shards may become gathers and exchanges (Gathers.cpp).
// The home of a part is then a stash with room for the parts of all ranks, and
// the channels of the parts are not used.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_PIPELINETORANK_RANKPLAN_H
#define STAGEWRIGHT_CONVERSION_PIPELINETORANK_RANKPLAN_H

#include "Update.h"
#include "stagewright/Conversion/PipelineToRank/Passes.h"
#include "stagewright/Scheduling/ReadyFirst.h"
#include "stagewright/Scheduling/Segments.h"
#include "stagewright/Simulation/OrderDepths.h"
#include "stagewright/Simulation/RingDepths.h"
#include "llvm/ADT/MapVector.h"
#include <map>
#include <set>

namespace stagewright::torank {

/// A kind of action of a stage, for any microbatch. If a stage runs I and W
/// apart for some microbatches, its B runs as I, then W.
struct ActionKey {
  ActionKind kind = ActionKind::Forward;
  int64_t stage = 0; ///< Number of the copy.

  friend auto operator<=>(const ActionKey &, const ActionKey &) = default;
};

/// One node in its action.
struct NodePlan {
  pipeline::NodeOp node;
  /// Results that the body writes to their homes, in order.
  mlir::SmallVector<unsigned> written;
  /// Results that the body adds to an accumulator: (result of the node, result
  /// of the step).
  mlir::SmallVector<std::pair<unsigned, int64_t>> accumulated;
  /// By result of the step, in the order in which they first occur in
  /// `accumulated`: the results of the node that are added to it.
  llvm::MapVector<int64_t, std::vector<unsigned>> sums() const;
  /// First byte of the workspace after all values that are live in the call.
  int64_t workspaceTop = 0;
};

/// The nodes of an action, in the order in which they run.
struct ActionPlan {
  mlir::SmallVector<NodePlan> nodes;
  /// Arguments of the graph that are results of the step, or parts of these,
  /// with the results; written at the end of this action.
  mlir::SmallVector<std::pair<mlir::BlockArgument, int64_t>> passedThrough;
};

enum class Home { Workspace, Output, Stash, Channel };

/// A value kept for later actions of one stage of its rank.
struct StashPlan {
  int64_t stage = 0; ///< The stage that uses it.
  ActionKey last;
  unsigned lastAt = 0; ///< Position of the last use in `last`.
  RingDepth depth;
  ActionKey first = {}; ///< The first that uses it.
  /// Whether it is offloaded to the host. It then has two rings on the device,
  /// `depth`, which forwards write, and `back`, which backwards read, and the
  /// ring `onHost` on the host.
  bool offloaded = false;
  RingDepth onHost = {}, back = {};
  /// Whether it is the stash of a part of a gather: its slots have all parts.
  bool gathers = false;
  /// Whether another stash has its slots and releases them: all parts that a
  /// rank sends in one exchange share their slots.
  bool follows = false;

  /// Extends its lifetime to the uses of `channel`, whose messages a gather
  /// carries.
  void extend(const struct ChannelPlan &channel);
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
  int64_t gather = -1; ///< The gather of which it is a part; -1: none.
  /// Numbers of the parts of a slot: the one in which its rank writes it, and
  /// the one in which the gather's ranks read it.
  int64_t writtenPart = 0, readPart = 0;
  /// Whether its rank begins the gather after it: it is the last part that the
  /// rank writes.
  bool beginsGather = true;
};

/// A value that is sent to a stage on another rank.
struct ChannelPlan {
  mlir::Value value;
  std::string name;
  int64_t from = 0, to = 0, stage = 0;
  ActionKey first, last;
  unsigned lastAt = 0; ///< Position of the last use in `last`.
  RingDepth depth;
  bool gathered = false; ///< A gather carries its messages.
};

/// A gather: each rank of a group of shards makes one part of a value. If it
/// exchanges, each rank makes one part for every other rank.
struct GatherPlan {
  std::string name;
  std::vector<int64_t> ranks; ///< In increasing order; so are the parts.
  mlir::Type type;            ///< Of a part.
  bool exchanges = false;
  int64_t depth = 1;
};

/// The order of one rank: loops, a table if it does not repeat, or lanes if the
/// rank runs what is ready. It numbers microbatches within the rank's pipeline.
struct RankOrder {
  std::vector<Segment> loops;
  std::vector<std::pair<ActionKey, int64_t>> rows; ///< With microbatches.
  std::vector<Lane> lanes;
};

/// A sum over microbatches: the result of the step, or the part of it, that
/// `stage` accumulates.
struct AccumulatorPlan {
  int64_t result = 0;
  int64_t stage = 0;
  /// Whether it is the result itself; else it is a part. An all-reduce sums the
  /// parts of a result that is in a bucket; those that keepsParts() names stay
  /// apart; the owner adds the others to the result.
  bool owner = false;
};

/// Gradients that one all-reduce sums, in one range of bytes on each rank.
struct BucketPlan {
  mlir::SmallVector<int64_t> ranks; ///< In increasing order.
  mlir::SmallVector<int64_t> results;
  /// Where a rank begins the sum: after the last node that adds to it or after
  /// a later one (so that all sums and gathers have one order), else at the end
  /// of the step.
  struct Start {
    bool atEnd = true;
    ActionKey key;
    unsigned position = 0;
    int64_t last = 0; ///< Microbatch.
  };
  std::map<int64_t, Start> starts; ///< By rank.
  /// By rank: the ranks of its replica, which sum the gradients in every step.
  /// Empty unless replicas average parameters that several stages use.
  std::map<int64_t, mlir::SmallVector<int64_t>> sharers;
};

/// An average, over replicas, of the parameters whose gradients are in a
/// bucket. Its state becomes further arguments of the step; the members give
/// their positions.
struct AveragePlan {
  unsigned bucket = 0;
  mlir::SmallVector<unsigned> parameters; ///< Arguments of @update.
  mlir::MemRefType type;                  ///< Of the sum and the snapshot.
  int64_t step = 0, sum = 0;              ///< Positions.
  std::map<int64_t, int64_t> snapshots;   ///< Positions by rank; may be empty.
};

/// All decisions.
struct Plan {
  pipeline::GraphOp graph;
  pipeline::ProgramOp program;
  pipeline::ScheduleOp schedule;
  Schedule data;         ///< The orders of `schedule`.
  StageGraph stageGraph; ///< Of `program`, without copies.
  /// The order of one pipeline for any number of microbatches, if a generator
  /// has it and each rank has one stage; else none, and the program runs only
  /// with the number of microbatches of `data`.
  std::optional<ScheduleFamily> family;
  /// By stage of the program, if ranks run what is ready; else empty.
  std::vector<int64_t> credits;
  /// Number of parallel pipelines, which share no rank.
  int64_t pipelines = 1;
  std::vector<int64_t> pipelineOfRank;
  int64_t numStages = 0; ///< Of the program.
  /// By copy: its microbatches, in increasing order.
  std::vector<std::vector<int64_t>> microbatchesOf;
  std::vector<bool> splits; ///< By stage: runs I and W apart.
  /// By copy of a stage: whether it runs its turns in order, and the backward
  /// of each turn after the forward of the next turn, so that stashes can be
  /// fetched one turn ahead.
  std::vector<bool> fetchesAhead;
  std::vector<RankOrder> orders;    ///< Per rank.
  std::vector<int64_t> rankOfStage; ///< By number of the copy.
  std::vector<std::string> deviceOfRank;
  std::vector<int64_t> nodeOfRank; ///< Of its device, in the cluster.
  /// By rank: its host, numbered in rank order; empty if all share one host.
  std::vector<int64_t> hostOfRank;
  std::map<ActionKey, ActionPlan> actions;
  llvm::MapVector<mlir::Value, ValuePlan> values;
  std::vector<ChannelPlan> channels;
  std::vector<GatherPlan> gathers;
  std::vector<AccumulatorPlan> accumulators; ///< By result, then stage.
  std::vector<BucketPlan> buckets;     ///< In the order in which they begin.
  std::vector<int64_t> bucketOfResult; ///< -1: has an owner that adds parts.
  std::vector<int64_t> rankOfResult;   ///< Of a summed result: its owner.
  /// By result that is not summed, and rank: the microbatches for which the
  /// rank makes the result.
  std::map<std::pair<int64_t, int64_t>, std::set<int64_t>> outputs;
  std::vector<int64_t> workspaceOfRank; ///< Bytes.
  std::optional<Update> update;         ///< The optimizer, if there is one.
  /// If set, replicas update parameters of their own and average them; buckets
  /// are then not summed.
  pipeline::AveragingAttr averaging;
  std::vector<AveragePlan> averages;
  /// Arguments of @update of which every rank has its own value, since replicas
  /// differ: the position in the step, by argument and rank.
  std::map<std::pair<unsigned, int64_t>, int64_t> ownPositions;

  ActionKey keyOf(pipeline::NodeOp node) const { return keys.lookup(node); }
  int64_t rankOf(const ActionKey &key) const { return rankOfStage[key.stage]; }
  int64_t numRanks() const { return orders.size(); }
  int64_t numCopies() const { return microbatchesOf.size(); }
  /// The stage of the program of which `stage` is a copy.
  int64_t stageNumber(int64_t stage) const { return stage % numStages; }
  /// The distance between the microbatches of copy `copy`; 1 if it is not
  /// constant, or if the first microbatch is not less than it. Its turns, which
  /// select slots, are microbatch / distance.
  int64_t strideOf(int64_t copy) const;
  /// Microbatches of the pipeline of `rank`.
  int64_t microbatchesOfRank(int64_t rank) const;
  /// The stage as part of names: `1` or `1.copy2`.
  std::string nameOfStage(int64_t stage) const;
  /// A number that all copies of a stage share, also with its replicas that run
  /// slices of microbatches.
  int64_t originalStage(int64_t stage) const;
  /// The number of the replica that `rank` belongs to; 0 if there is only one.
  int64_t replicaOfRank(int64_t rank) const;
  /// The samples of a microbatch that `rank` has, and all of them; (1, n) if n
  /// replicas take microbatches in turn.
  struct Share {
    int64_t own = 1, all = 1;
    bool inTurn = false;
    friend bool operator==(const Share &, const Share &) = default;
  };
  Share shareOf(int64_t rank) const;
  /// The replicas that `ranks` belong to: number, own samples and all of them.
  std::set<std::tuple<int64_t, int64_t, int64_t>>
  replicasOf(mlir::ArrayRef<int64_t> ranks) const;
  /// The weight of what `rank` has in a mean over the ranks of `bucket`: its
  /// replica's share of the samples, divided among the ranks of the replica.
  double weightOf(const BucketPlan &bucket, int64_t rank) const;
  /// The number of microbatches for which `rank` runs its first stage.
  int64_t runsOf(int64_t rank) const;
  /// The accumulator of `rank` that holds the sum of result `index` over ranks,
  /// or the rank's part of it: that of the owner if the rank has it, else its
  /// first.
  unsigned accumulatorOf(int64_t index, int64_t rank) const {
    return sumsOf(index, rank).first;
  }
  /// The accumulators of `rank` for result `index`.
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
  /// The actions that an action of the schedule consists of, in order.
  mlir::SmallVector<ActionKey, 2> partsOf(const ActionKey &action) const;
  /// How result `index` of the step is combined over microbatches.
  pipeline::Combine combineOf(int64_t index) const;
  bool isAccumulated(int64_t index) const {
    return combineOf(index) == pipeline::Combine::Mean ||
           combineOf(index) == pipeline::Combine::Sum;
  }

  /// Whether each replica keeps its part of result `index`, and the host adds
  /// the parts when it reads the result. Replicas that average their parameters
  /// do not wait for each other within a step.
  bool keepsParts(int64_t index) const;

  /// Whether `rank` reads `argument` of the graph, or passes it through.
  bool reads(int64_t rank, mlir::BlockArgument argument) const {
    return readBy.contains({rank, int64_t(argument.getArgNumber())});
  }

  llvm::DenseMap<mlir::Operation *, ActionKey> keys;
  mlir::SmallVector<int64_t> stageOfLayer;
  /// By stage of the program: its number; or -1 - s, if it was a replica of
  /// stage s before replicas became stages.
  mlir::SmallVector<int64_t> replicaOf;
  /// By stage of the program: the number of the replica that it is, and its
  /// share.
  mlir::SmallVector<std::pair<int64_t, Share>> sharesOfStages;
  /// Caches for loops over all ranks: by (result, rank), and by (rank,
  /// argument).
  llvm::DenseMap<std::pair<int64_t, int64_t>, Sums> sums;
  llvm::DenseSet<std::pair<int64_t, int64_t>> readBy;
  /// By node: its copy; 0 if absent.
  llvm::DenseMap<mlir::Operation *, int64_t> copyOf;
};

/// Reads program and schedule: ranks, orders, the nodes of every action
/// (RankPlan.cpp).
mlir::FailureOr<Plan> readSchedule(mlir::ModuleOp module);

/// Finds the routes of `plan.data` and makes a copy of the nodes for each but
/// the first, and the nodes of phase R (Routes.cpp).
void makeRoutes(Plan &plan);

/// Sets the orders and the devices of the ranks (Orders.cpp).
void readOrders(Plan &plan);

/// The order of `rank`, with copies as stages and microbatches numbered within
/// its pipeline. Paired actions become separate; updates are left out, because
/// they run at the end of the step (Orders.cpp).
Order orderOfCopies(const Plan &plan, int64_t rank);

/// Chooses which gradients ranks sum together, and where the sums begin
/// (Buckets.cpp). A bucket is closed once it has `bytes` bytes; 0: no buckets.
void chooseBuckets(Plan &plan, int64_t bytes);

/// Chooses a home for every value, the channels and the accumulators
/// (Places.cpp), then the depths of rings. `gathers`: joins of shards become
/// gathers, and scatters exchanges.
mlir::LogicalResult placeValues(Plan &plan, bool gathers);

/// Finds the joins of shards that can be gathers, and the scatters that can be
/// exchanges, after all uses are known (Gathers.cpp).
void chooseGathers(Plan &plan);

/// Marks the stashes that are offloaded to the host (Offload.cpp).
void chooseOffload(Plan &plan);

/// Sets the ring depths of offloaded stashes, from the depths that they would
/// have on the device (Offload.cpp). `betweenUses`: slots from the first use of
/// a stash to its last.
void chooseOffloadDepths(
    Plan &plan,
    llvm::function_ref<RingDepth(const StashPlan &stash)> betweenUses);

/// Sets the ring depth of every channel and stash of `plan` (Depths.cpp).
mlir::LogicalResult chooseDepths(Plan &plan);

/// Sets the offsets of values in the workspace of their rank (Workspace.cpp).
void placeInWorkspace(Plan &plan);

/// Splits @update over the ranks, if the module has it (ReadUpdate.cpp,
/// CutUpdate.cpp). Call it after placeInWorkspace.
mlir::LogicalResult readUpdate(mlir::ModuleOp module, Plan &plan);

/// Chooses the averages over replicas, if the program has them, and the
/// positions of their state (PlanAverages.cpp). Call it after readUpdate. Fails
/// where a parameter cannot be averaged.
mlir::LogicalResult planAverages(Plan &plan);

/// Variants of bodies, by body, written results and summed results.
using Variants = std::map<std::tuple<mlir::Operation *, std::vector<unsigned>,
                                     std::vector<std::vector<unsigned>>>,
                          mlir::func::FuncOp>;
/// The variant of the body of `node` that writes its results `written` and adds
/// its results `accumulated` to further arguments at the end, one for each
/// entry of sums(). Creates it if `made` does not have it yet (Accumulate.cpp).
mlir::FailureOr<mlir::func::FuncOp>
getVariant(const NodePlan &node, mlir::SymbolTable &symbols, Variants &made);

/// Counters for the pass's statistics.
struct EmitStatistics {
  int64_t channels = 0, gathers = 0, stashes = 0, offloaded = 0, copies = 0,
          accumulated = 0;
};

/// Writes step, channels and programs (Emit/); erases what they replace.
mlir::FailureOr<EmitStatistics> emitPrograms(mlir::ModuleOp module,
                                             const Plan &plan);

} // namespace stagewright::torank

#endif // STAGEWRIGHT_CONVERSION_PIPELINETORANK_RANKPLAN_H
