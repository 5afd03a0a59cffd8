//===- Sharder.h - a step for several shards --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies a step operation by operation, once for every shard, each on its part
// of what is split. Layouts follow from the indexing maps: a split loop that is
// parallel splits the result, one that is summed leaves partial sums. Where an
// operation needs more than its shard has, a box stands before it: partial sums
// are added up, parts joined, in every shard.
//
// Large partial sums are scattered: each shard adds up its part of them, and
// what works element by element or row by row goes on with parts, up to the
// next contraction, which the parts are joined for (sequence parallelism;
// Korthikanti et al., MLSys 2023). A scatter and a join send what one sum for
// all would, or less.
//
// Values have levels, even where they are whole or scattered and odd where they
// are split by a hint: from one to the next data may cross between shards, in
// the forward upwards and in the backward downwards, within a level it never
// does. So the operations of one level and one shard are a layer of the
// pipeline, named by their location, and no two layers wait for each other both
// ways.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SHARDER_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SHARDER_H

#include "Layout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "stagewright/Analysis/StepGraph.h"
#include "llvm/ADT/StringMap.h"
#include <set>

namespace stagewright::pipeline {

/// A loop of which every shard has a part of each of `outer` chunks.
struct SplitLoop {
  unsigned number = 0;
  int64_t outer = 1;
  bool scattered = false; ///< Along what a sum was scattered by.
};

/// What an operation and its regions read.
mlir::SetVector<mlir::Value> readsOf(mlir::Operation &op);

/// Layouts of the results if `loop` is split; nothing if it cannot be.
std::optional<llvm::SmallVector<Layout>>
resultsOf(mlir::linalg::LinalgOp op, const SplitLoop &loop, int64_t ways);

/// Whether `op` reshapes, slices or pads a tensor.
bool isShapeOp(mlir::Operation &op);

/// The array that `op` only looks rows up in, from outside of it; null where it
/// does something else.
mlir::Value lookedUpTable(mlir::linalg::LinalgOp op);

/// Whether `op` only moves or rounds its one input, adds it up, or adds both:
/// of partial sums, a partial sum.
bool keepsPartial(mlir::linalg::LinalgOp op);

/// Whether result `number` adds something to its initial value, which is zero.
bool isSumFromZero(mlir::linalg::LinalgOp op, unsigned number);

/// Of a step that a sharder wrote: leaves `pipeline.forward` on what no result
/// of the forward depends on, and lets what is on a level that its shard has no
/// forward of, as the loss's, be on the one below.
void settle(mlir::func::FuncOp step);

/// What stands between shards, by kind.
struct Boxes {
  int64_t sums = 0, scatters = 0, joins = 0, exchanges = 0;

  Boxes &operator+=(const Boxes &other) {
    sums += other.sums, scatters += other.scatters;
    joins += other.joins, exchanges += other.exchanges;
    return *this;
  }
};

class Sharder {
public:
  /// Of a step, whose whole values every shard makes for itself; without a
  /// graph, of an optimizer, whose whole values are made once. `scatters` says
  /// whether operations go on with parts of large sums.
  Sharder(const StepGraph *graph, int64_t ways, bool scatters,
          mlir::OpBuilder &builder)
      : graph(graph), ways(ways), scatters(scatters && graph),
        builder(builder) {}

  /// An argument of the step: one value for all shards, or the part of each.
  void setArgument(mlir::Value old, mlir::Value whole);
  void setArgument(mlir::Value old, Layout layout,
                   llvm::ArrayRef<mlir::Value> parts);

  void copy(mlir::Block &block);

  Layout layoutOf(mlir::Value old) { return entryOf(old).layout; }
  /// What `shard` has of a value of the step, whole or as `layout` says.
  mlir::Value whole(mlir::Value old, int64_t shard);
  mlir::Value in(mlir::Value old, Layout layout, int64_t shard);

  Boxes boxes;

private:
  /// How far into the forward, or into the backward, something is; -1: before
  /// all, as arguments are.
  struct Level {
    int64_t number = -1;
    bool backward = false;
  };
  struct Entry {
    Layout layout;
    llvm::SmallVector<mlir::Value> copies; ///< By shard.
    Level level;
    bool shared = false;    ///< One value for all.
    bool scattered = false; ///< Split by a scatter.
    bool isProduct = false; ///< Partial, by a contraction or a look-up.
    llvm::SmallVector<mlir::Value> boxed; ///< Whole, by shard, once needed.
    /// Split otherwise, by shard, once needed.
    llvm::SmallVector<std::pair<Layout, llvm::SmallVector<mlir::Value>>> others;
  };

  //===--- Operations -----------------------------------------------------===//
  void copy(mlir::Operation &op);
  /// One copy for all shards, or one for each, on whole values.
  void copyShared(mlir::Operation &op);
  void copyWhole(mlir::Operation &op);
  /// Each fails, having written nothing, where operands have to be whole.
  bool copyStructured(mlir::linalg::LinalgOp op);
  /// Scatters operands that are partial, and goes on with the parts.
  bool copyScattered(mlir::linalg::LinalgOp op);
  bool copySplit(mlir::linalg::LinalgOp op,
                 llvm::ArrayRef<SplitLoop> candidates);
  bool copyMoves(mlir::linalg::LinalgOp op);
  bool copyLookup(mlir::linalg::LinalgOp op);
  bool copyTensorOp(mlir::Operation &op);
  /// A copy on `operands` with results of `types`; what its regions read is
  /// whole, but for the one value that is `held` otherwise.
  mlir::Operation *copyWith(mlir::Operation &op, mlir::ValueRange operands,
                            mlir::TypeRange types, int64_t shard,
                            std::pair<mlir::Value, mlir::Value> held = {});

  /// The part of `shard` where `loop` is split, with such results.
  mlir::Operation *copyPart(mlir::linalg::LinalgOp op, const SplitLoop &loop,
                            llvm::ArrayRef<Layout> results, int64_t shard);

  //===--- Values ---------------------------------------------------------===//
  Entry &entryOf(mlir::Value old);
  Entry &set(mlir::Value old, Layout layout,
             mlir::ArrayRef<mlir::Value> copies);
  /// Of the operation that makes `value`; null where there is no graph.
  const StepOp *entryIn(mlir::Value value) const;
  /// The level of a value as an operand: whole values behind their box.
  Level levelOf(mlir::Value old, bool isWhole);
  static Level behindBox(Level level);
  /// Whether parts there can be joined: in a backward on a level below.
  static bool canJoinAt(Level level);
  void box(mlir::Value old);
  /// The parts of a split value if it was split by `layout`: each shard gets
  /// what it has of them from each (an all-to-all). Null where parts of parts
  /// are not what it has, or all are whole already.
  llvm::SmallVector<mlir::Value> *exchanged(mlir::Value old, Layout layout);
  /// How the parts of a partial value would lie if it was scattered; nothing
  /// where it is none that should be.
  std::optional<Layout> scatteredLayout(mlir::Value old);
  void scatter(mlir::Value old, Layout layout);
  /// What `shard` gets of what each shard has of a value, by `layout`.
  llvm::SmallVector<mlir::Value> partsFor(int64_t shard, mlir::Value old,
                                          Layout layout);
  /// Whether a partial value becomes whole by parts that each shard adds up.
  bool boxesByParts(mlir::Value old);
  /// A part of what costs nothing to make again (a mask, a fill), or of what an
  /// optimizer makes element by element, made as a part; null of what else.
  mlir::Value makePart(mlir::Value old, Layout layout, int64_t shard);

  //===--- Places ---------------------------------------------------------===//
  /// Lets what is written next stand at the level that its operands allow.
  void enter(mlir::Operation &op, bool isSplit, llvm::ArrayRef<Level> operands);
  /// The highest level, at most `bound`, at which the forward reads a parameter
  /// that `op` reads; -1 where there is none.
  int64_t levelByParameters(mlir::Operation &op, int64_t bound) const;
  /// Marks what all shards do for the loss, which the step has of one of them.
  void mark(mlir::Operation &op);
  /// Lets it be in `shard`.
  mlir::Location at(mlir::Operation *op, int64_t shard);

  const StepGraph *graph;
  int64_t ways;
  bool scatters;
  mlir::OpBuilder &builder;
  llvm::DenseMap<mlir::Value, Entry> entries;
  Level here;             ///< Of what is being written.
  bool isForward = false; ///< Whether that is for the forward.
  llvm::DenseMap<int64_t, std::string> names; ///< Of levels.
  llvm::StringMap<int64_t> topOfScope;        ///< Of the forward, by scope.
  /// By argument: levels of the forward that read it.
  llvm::DenseMap<mlir::Value, std::set<int64_t>> readers;
  int64_t top = 0; ///< Of the forward.
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SHARDER_H
