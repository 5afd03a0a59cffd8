//===- Sharder.h - a step for several shards --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies a step operation by operation, once for every shard, each on its part
// of split values. Layouts follow from the indexing maps: a split parallel loop
// splits the result, a split reduction loop leaves partial sums. If an
// operation needs more than its shard has, a box comes before it: every shard
// adds up the partial sums or joins the parts.
//
// Large partial sums are scattered: each shard adds up one part, and
// elementwise and row-wise operations continue on parts, up to the next
// contraction, before which the parts are joined (sequence parallelism;
// Korthikanti et al., MLSys 2023). A scatter and a join send as much as one sum
// in every shard, or less.
//
// Every value has a level: an even number if the value is whole or scattered,
// an odd one if a hint splits it. Data crosses between shards only from one
// level to another, upwards in the forward and downwards in the backward, never
// within a level. So the operations of one level and one shard are a layer of
// the pipeline, named by their location, and no two layers of a phase wait for
// each other.
//
// An even level can be cut into two layers, for a pipeline whose stages are on
// different devices (`cuts`): its head adds up partial sums and applies
// elementwise operations, such as a residual connection; its tail begins with
// the first operation that reduces, such as a norm. Between them each shard
// sends only its rows, once, to the same shard of the next stage, which joins
// them there (the scatter and gather of Narayanan et al., SC 2021). The
// backward adds up gradients in the tail.
//
// The stages of a pipeline can have different numbers of shards (`stages`).
// Each then has levels of its own. The first of them only receives what other
// stages send. A split value arrives as one part for each shard of the stage,
// so each element is sent once. A whole value, or one that cannot be split over
// the shards of the stage, is sent to every shard. Values are summed in the
// stage that makes them, unless the receiving stage only adds them to a partial
// value. Then each shard of the receiving stage adds what its device has
// already, and what it gets from shards on devices that the stage does not use;
// it may have nothing to add.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SHARDER_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SHARDER_H

#include "Layout.h"
#include "Stages.h"
#include "SumTrees.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "stagewright/Analysis/StepGraph.h"
#include "llvm/ADT/StringMap.h"
#include <deque>
#include <map>
#include <set>

namespace stagewright::pipeline {

/// A split loop: every shard has a part of each of its `outer` chunks, in units
/// of `unit` iterations.
struct SplitLoop {
  unsigned number = 0;
  int64_t outer = 1, unit = 1;
  bool scattered = false; ///< Along the dimension of a scatter.
  bool samples = false;   ///< Along the samples of a batch.
};

/// What an operation and its regions read.
mlir::SetVector<mlir::Value> readsOf(mlir::Operation &op);

/// The value from which `value` is computed by reshapes, slices and structured
/// operations of one input; `value` itself if it is made by anything else.
mlir::Value originOf(mlir::Value value);

/// Layouts of the results if `loop` is split; nothing, with a reason in `why`,
/// if it cannot be.
std::optional<llvm::SmallVector<Layout>> resultsOf(mlir::linalg::LinalgOp op,
                                                   const SplitLoop &loop,
                                                   int64_t ways,
                                                   std::string *why = nullptr);

/// Whether `op` reshapes or pads a tensor, or extracts or inserts a slice.
bool isShapeOp(mlir::Operation &op);

/// The table, defined outside of `op`, if `op` only looks up its rows; else
/// null.
mlir::Value lookedUpTable(mlir::linalg::LinalgOp op);

/// Whether `op` maps partial sums to a partial sum: it only moves, rounds or
/// adds up its one input, or adds its two inputs.
bool keepsPartial(mlir::linalg::LinalgOp op);

/// Calls `take` with the values from which `gradient` is computed, itself
/// first, up to and including those that sum over rows: through operations that
/// move their only input, and if `throughSums` also through sums and joins.
/// Goes no further where `take` returns false.
void forPartsOfGradient(mlir::Value gradient, bool throughSums,
                        llvm::function_ref<bool(mlir::Value)> take);

/// The bytes that no longer cross a cut if an operation with `results` moves
/// behind it: those of the results, less those of the operands for which
/// `staysBefore` holds, which have not crossed it.
int64_t savedBytes(mlir::ValueRange results, mlir::ValueRange operands,
                   llvm::function_ref<bool(mlir::Value)> staysBefore);

/// Whether `op` pads a tensor with zeros, and only that.
bool padsWithZero(mlir::tensor::PadOp op);

/// Whether result `number` is a sum that starts from zero.
bool isSumFromZero(mlir::linalg::LinalgOp op, unsigned number);

/// The sum, or the max if `layout` is Largest, of partial values of shards, in
/// the order of the shards, so that every shard has the same bits.
mlir::Value joinAll(mlir::OpBuilder &builder, mlir::Location loc, Layout layout,
                    llvm::ArrayRef<mlir::Value> values);

/// Corrects a step that a sharder wrote: removes `pipeline.forward` where a
/// result of the forward depends on the operation, and moves operations of the
/// backward from levels at which their shard has no forward, such as those
/// after the loss, to the next lower level at which it has one; in stages after
/// the first, if there is no lower one, to the next higher.
void settle(mlir::func::FuncOp step);

/// Moves operations of a step that a sharder wrote with `cuts` from heads of
/// levels to tails, in the backward from tails to heads, where fewer bytes then
/// cross from one to the other. Then sorts the forward by level.
void moveAcrossCuts(mlir::func::FuncOp step);

/// Sorts the operations of the forward by level, part and shard, so that the
/// layers of the graph have this order too.
void sortForward(mlir::func::FuncOp step);

/// Numbers of communications between shards, by kind.
struct Boxes {
  int64_t sums = 0, scatters = 0, joins = 0, exchanges = 0;
  /// Bytes that all shards together send in these, and to other stages; what
  /// stays on its device is not counted.
  int64_t bytes = 0;

  Boxes &operator+=(const Boxes &other) {
    sums += other.sums, scatters += other.scatters;
    joins += other.joins, exchanges += other.exchanges;
    bytes += other.bytes;
    return *this;
  }
};

/// What the operations of a step did with split values, by number in its
/// graph.
struct SplitTrace {
  llvm::DenseSet<unsigned> onParts; ///< Each shard computes a part.
  /// Operations that read parts but need the whole, with the reason.
  std::map<unsigned, std::string> onWholes;
};

class Sharder {
public:
  /// With `graph`, for a step: every shard computes whole values itself.
  /// Without, for an optimizer: whole values are computed once. `scatters`:
  /// whether large sums are scattered. `cuts`: whether even levels have tails.
  Sharder(const StepGraph *graph, int64_t ways, bool scatters, bool cuts,
          mlir::OpBuilder &builder)
      : graph(graph), ways(ways), scatters(scatters && graph),
        cuts(cuts && graph), builder(builder) {}

  /// Lets stages have the numbers of shards that `all` states. Values are asked
  /// for in the stage of the last enterStage().
  void setStages(const StageShards *all) { stages = all; }
  void enterStage(int number);
  /// The stage in which `old` was copied; kAny if all shards share it.
  int stageOf(mlir::Value old) const;
  void setStageOf(mlir::Value old, int number) { homes[old] = number; }

  /// Sets an argument: one value for all shards, or the part of each shard of
  /// stage `number`.
  void setArgument(mlir::Value old, mlir::Value whole);
  void setArgument(mlir::Value old, Layout layout,
                   llvm::ArrayRef<mlir::Value> parts, int number = 0);
  /// Lets each shard work on its part, as `layout` says, of the argument `old`,
  /// which is `whole` in all shards.
  void share(mlir::Value old, mlir::Value whole, Layout layout);

  /// States that `value` is the gradient of `argument`.
  void setGradient(mlir::Value value, mlir::Value argument);

  /// Records in `made` what copy() does; for a step without scatters.
  void trace(SplitTrace *made) { traced = made; }

  /// `addsPartial`: whether additions may be done before the sum of the shards
  /// (ShardSums.cpp).
  void copy(mlir::Block &block, bool addsPartial = false);

  Layout layoutOf(mlir::Value old) { return entryOf(old).layout; }
  /// The copy of `old` in `shard`, whole or as `layout`; adds a box if needed.
  mlir::Value whole(mlir::Value old, int64_t shard);
  mlir::Value in(mlir::Value old, Layout layout, int64_t shard);

  Boxes boxes;

private:
  static constexpr int64_t kNoLevel = std::numeric_limits<int64_t>::max();

  /// A level of the forward, or of the backward; -1, that of arguments, is
  /// below all others.
  struct Level {
    int64_t number = -1;
    bool backward = false;
    bool tail = false; ///< Of an even level.

    bool isIn(int64_t level, bool ofTail) const {
      return number == level && tail == ofTail;
    }
    /// The part of an even level that comes later: the tail, or in the backward
    /// the head.
    Level later() const { return {number, backward, !backward}; }
    friend bool operator==(const Level &, const Level &) = default;
  };
  struct Entry {
    Layout layout;
    llvm::SmallVector<mlir::Value> copies; ///< By shard.
    Level level;
    bool shared = false;    ///< One value for all shards.
    bool scattered = false; ///< Split by a scatter.
    bool samples = false;   ///< Split by the samples of a batch.
    bool isProduct = false; ///< Partial, by a contraction or a look-up.
    llvm::SmallVector<mlir::Value> boxed; ///< Whole, by shard, once needed.
    llvm::SmallVector<mlir::Value> sent;  ///< sentFrom(), if not `copies`.
    /// By layout: the parts in another layout, by shard, once needed.
    llvm::SmallVector<std::pair<Layout, llvm::SmallVector<mlir::Value>>> others;
  };

  //===--- Operations -----------------------------------------------------===//
  void copy(mlir::Operation &op);
  /// copyShared: one copy for all shards; copyWhole: one in each, on whole
  /// values.
  void copyShared(mlir::Operation &op);
  void copyWhole(mlir::Operation &op);
  /// Each returns false, without a copy of the operation, if operands must be
  /// whole.
  bool copyStructured(mlir::linalg::LinalgOp op);
  /// Scatters partial operands and works on the parts.
  bool copyScattered(mlir::linalg::LinalgOp op);
  bool copySplit(mlir::linalg::LinalgOp op,
                 llvm::ArrayRef<SplitLoop> candidates);
  bool copyMoves(mlir::linalg::LinalgOp op);
  bool copyLookup(mlir::linalg::LinalgOp op);
  bool copyTensorOp(mlir::Operation &op);
  /// Records whether `op` was copied for parts, if it reads any.
  void record(mlir::Operation &op, bool onParts);
  /// Why `op`, which reads parts, needs whole values.
  std::string whyWhole(mlir::Operation &op);
  /// A copy with `operands` and results of `types`. Values that its regions
  /// read are whole, except those for which `held` has another.
  mlir::Operation *
  copyWith(mlir::Operation &op, mlir::ValueRange operands,
           mlir::TypeRange types, int64_t shard,
           mlir::ArrayRef<std::pair<mlir::Value, mlir::Value>> held = {});

  /// The split values that `op` reads, each with the loop to split for it; none
  /// if there is no such loop.
  llvm::SmallVector<std::pair<mlir::Value, std::optional<SplitLoop>>>
  splitReads(mlir::linalg::LinalgOp op);
  /// Whether the region of `op`, if `loop` is split, reads of `value` only the
  /// part that its shard has.
  bool readsPart(mlir::linalg::LinalgOp op, mlir::Value value,
                 const SplitLoop &loop);

  /// The copy for the part of `loop` that `shard` has; `results` are its
  /// layouts.
  mlir::Operation *copyPart(mlir::linalg::LinalgOp op, const SplitLoop &loop,
                            llvm::ArrayRef<Layout> results, int64_t shard);

  //===--- Sums of partial and other values -------------------------------===//
  using SumNodes = llvm::SetVector<mlir::Operation *>;
  /// What a value of a tree of additions costs until it is not partial.
  struct SumCost {
    int64_t bytes = 0;          ///< Of partial values that are summed.
    std::optional<Level> level; ///< Of these values.
    bool isAlike = true;        ///< Whether all of these have this level.
    /// The last levels of other values, of the forward and of the backward.
    int64_t forward = -1, backward = kNoLevel;
  };
  /// Whether `op` adds partial and other values, and waits for the root of its
  /// tree, with which it is copied.
  bool waits(mlir::Operation &op);
  /// Copies `op`, unless it waits, and what waits for it.
  void copyInTurn(mlir::Operation &op);
  /// Copies `root` and the operations that wait for it.
  void copySum(mlir::Operation &root);
  /// The least cost of `value`, computed by `nodes`. Records in `summed` the
  /// nodes whose results are to be summed instead of their addends.
  SumCost costOf(mlir::Value value, const SumNodes &nodes);
  /// Records in `kept` the nodes up to those in `summed`; `keeps`: the result
  /// of `value`'s reader is partial.
  void keepSums(mlir::Value value, const SumNodes &nodes, bool keeps);
  /// What `shard` adds if `old`, in any layout, is an addend of a partial
  /// value; null if that is zero.
  mlir::Value addend(mlir::Value old, int64_t shard);
  /// For each value of another stage that operations of `nodes` add: makes it
  /// partial if, in this stage, only operations in `kept` read it.
  void bringAddends(const SumNodes &nodes);
  /// The result of `op` in `shard` as a partial value.
  mlir::Value addPartial(mlir::linalg::LinalgOp op, int64_t shard);

  //===--- Stages ---------------------------------------------------------===//
  /// Copies the operations of a block, stage by stage.
  void copyByStages(mlir::Block &block, bool addsPartial);
  /// The common stage of the split values that `op` of an optimizer reads.
  int stageOfReads(mlir::Operation &op) const;
  /// Whether `old` is a tensor of another stage that the current one has not
  /// received.
  bool isAway(mlir::Value old) const;
  /// The level at which the current stage has what stage `from` sends.
  Level arrivalFrom(int from) const;
  /// Makes the entry in the current stage of a value of another one.
  Entry &bring(mlir::Value old);
  /// The same as a partial value, of which each element is sent at most once.
  /// Copies that are zero are null.
  void bringAsAddend(mlir::Value old);
  /// For bring(): makes what `from` sends to shard `shard` of the current
  /// stage, if that has the value in `layout`.
  mlir::Value received(mlir::Value old, int from, Layout layout, int64_t shard,
                       Level there);
  /// The first level of the stage, and the last of its forward so far, as an
  /// even number. In an optimizer, and if all stages have equally many shards,
  /// the first is 0.
  int64_t firstLevel() const;
  int64_t lastLevel() const;

  //===--- Values ---------------------------------------------------------===//
  Entry &entryOf(mlir::Value old);
  /// A new entry in the current stage.
  Entry &makeEntry(mlir::Value old);
  Entry &set(mlir::Value old, Layout layout,
             mlir::ArrayRef<mlir::Value> copies);
  /// The graph's entry of the operation that makes `value`; null without one.
  const StepOp *entryIn(mlir::Value value) const;
  /// The level of a value as an operand; if `isWhole`, the level after its box.
  Level levelOf(mlir::Value old, bool isWhole);
  Level behindBox(Level level) const;
  /// Whether parts at `level` can be joined: in a backward, only if there is a
  /// level below.
  bool canJoinAt(Level level) const;
  void box(mlir::Value old);
  /// The parts of `old` that are sent to other shards: if its level can be cut
  /// behind it, copies in the part of the level behind the cut. If the level is
  /// cut, each shard sends its part to one shard of the next stage, which sends
  /// it to the others; if not, pipeline-send-once removes the copies.
  llvm::ArrayRef<mlir::Value> sentFrom(mlir::Value old);
  /// The parts in `layout` of a value that is split along another dimension,
  /// made by an all-to-all. Null if that is not possible, or if every shard has
  /// the whole value already.
  llvm::SmallVector<mlir::Value> *exchanged(mlir::Value old, Layout layout);
  /// Whether a partial value can become `layout` by a scatter.
  bool canScatter(mlir::Value old, Layout layout);
  /// The layout of a partial value after a scatter that lets shards go on with
  /// rows; nothing if it is not to be scattered.
  std::optional<Layout> scatteredLayout(mlir::Value old);
  void scatter(mlir::Value old, Layout layout);
  /// The part in `layout` of each shard's copy of a value, for `shard`.
  llvm::SmallVector<mlir::Value> partsFor(int64_t shard, mlir::Value old,
                                          Layout layout);
  /// Whether a partial value becomes whole by a scatter and a join.
  bool boxesByParts(mlir::Value old);
  /// Computes a part directly if the value costs nothing to recompute (a mask,
  /// a fill), or if an optimizer computes it element by element; else null.
  mlir::Value makePart(mlir::Value old, Layout layout, int64_t shard);

  //===--- Places ---------------------------------------------------------===//
  static bool isOnSplitLevel(llvm::ArrayRef<Level> levels);
  /// Sets the level of what is written next from the levels of its operands.
  void enter(mlir::Operation &op, bool isSplit, llvm::ArrayRef<Level> operands);
  /// The highest level, at most `bound`, at which the forward reads a parameter
  /// that `op` reads; -1 if there is none.
  int64_t levelByParameters(mlir::Operation &op, int64_t bound) const;
  /// Whether `op`, whose operands have `levels`, is in the tail of the even
  /// level `here`: of the forward, of the backward. In the backward, operations
  /// that read values of the head which the forward does not send to the tail,
  /// or that sum gradients of parameters of the head, are in the head.
  ///@{
  bool isInForwardTail(mlir::Operation &op, llvm::ArrayRef<Level> levels) const;
  bool isInBackwardTail(mlir::Operation &op, llvm::ArrayRef<Level> levels);
  ///@}
  /// Whether the forward reads `argument` in the head of the level `here`, and
  /// not in its tail.
  bool isOfHead(mlir::Value argument) const;
  /// For `op` of the forward: records its part of the level, and the values of
  /// heads that it reads outside of these heads.
  void noteReads(mlir::Operation &op);
  /// Sets `pipeline.forward` on a copy of a forward operation. All shards
  /// compute the loss, but only one shard's is a result of the step.
  void mark(mlir::Operation &op);
  /// The location of `op` at the current level in `shard`.
  mlir::Location at(mlir::Operation *op, int64_t shard);

  const StepGraph *graph;
  int64_t ways;
  bool scatters, cuts;
  mlir::OpBuilder &builder;
  SplitTrace *traced = nullptr;
  const StageShards *stages = nullptr;
  int stage = 0; ///< That is being written, with `ways` shards.
  using Entries = llvm::DenseMap<mlir::Value, std::unique_ptr<Entry>>;
  std::deque<Entries> entries = std::deque<Entries>(1); ///< By stage.
  llvm::DenseMap<mlir::Value, int> homes; ///< The results of stageOf().
  /// The layouts of batches that share() has split.
  llvm::DenseMap<mlir::Value, Layout> batches;
  /// Of the stages up to the current one: the first level and, except for the
  /// current one, the last of the forward.
  llvm::SmallVector<int64_t> firsts = {0}, lasts;
  SumTrees sums;
  llvm::DenseMap<mlir::Operation *, int> stageOfOp;    ///< See copyByStages().
  llvm::DenseMap<mlir::Operation *, SumNodes> waiting; ///< By root.
  llvm::DenseSet<mlir::Operation *> summed;            ///< See costOf().
  llvm::DenseSet<mlir::Operation *> kept; ///< Their results are partial.
  Level here;                             ///< Of what is being written.
  bool isForward = false;                 ///< Whether that is for the forward.
  llvm::DenseMap<int64_t, std::string> names; ///< Of levels.
  llvm::StringMap<int64_t> topOfScope;        ///< Highest level in the forward.
  /// By argument: levels of the forward that read it.
  llvm::DenseMap<mlir::Value, std::set<int64_t>> readers;
  int64_t top = 0; ///< Highest level of the forward.
  /// Heads and tails of even levels that the forward has.
  std::set<std::pair<int64_t, bool>> parts;
  /// Origins of values that the head of an even level reads, with its number;
  /// those of values that its tail reads.
  llvm::DenseSet<std::pair<mlir::Value, int64_t>> readByHead, readByTail;
  /// Values made in heads that the forward reads elsewhere.
  llvm::DenseSet<mlir::Value> crossing;
  /// By value: the argument whose gradient it becomes.
  llvm::DenseMap<mlir::Value, mlir::Value> gradientOf;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SHARDER_H
