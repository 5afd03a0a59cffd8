//===- SplitFunction.h - one function for all shards ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each part of a split argument becomes an argument, and each part of a result
// that belongs to this argument becomes a result.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SPLITFUNCTION_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SPLITFUNCTION_H

#include "Sharder.h"
#include <map>

namespace stagewright::pipeline {

/// Max number of parts into which layers are split.
inline constexpr int64_t kMostWays = 1024;

/// `type` without dimension 0.
mlir::RankedTensorType rowType(mlir::RankedTensorType type);

/// The reassociation of a row with a tensor of one row that has `rank`
/// dimensions: dimensions 0 and 1 become the row's first.
llvm::SmallVector<mlir::ReassociationIndices> rowGroups(int64_t rank);

/// The slice that argument `number` is; -1 if it is none.
int64_t sliceOf(mlir::func::FuncOp function, unsigned number);

/// Layouts of arguments of a step by position and slice (-1: not a slice).
using LayoutsByPosition = std::map<std::pair<int64_t, int64_t>, Layout>;
/// Their stages, likewise.
using StagesByPosition = std::map<std::pair<int64_t, int64_t>, int>;

struct FunctionSplitter {
  int64_t ways = 1;
  bool scatters = false, cuts = false; ///< As in Sharder.
  /// Parts are single rows of stacks, without dimension 0.
  bool rows = false;
  /// The shards are those of an axis of a grid: facts of slices are lists.
  bool isOfGrid = false;
  /// By argument of the step: how each shard takes its part of a batch, which
  /// stays one argument; empty: all shards take the whole.
  llvm::SmallVector<Layout> batches = {};
  SplitTrace *trace = nullptr; ///< As in Sharder.
  /// Of a step whose stages have different numbers of shards; else null.
  const StageShards *stages = nullptr;

  /// Replaces `function`, a step (with its graph) or an optimizer (without), by
  /// one for all parts.
  Boxes split(mlir::func::FuncOp function, const StepGraph *graph,
              llvm::ArrayRef<Layout> layouts) const;

  /// The same for an optimizer: its parameters and gradients are split as those
  /// of the step (`ofStep`), its state as the results that replace it. With
  /// `stages`, `stageOf` has the stages of parameters.
  Boxes splitUpdate(mlir::func::FuncOp update, const LayoutsByPosition &ofStep,
                    const StagesByPosition &stageOf = {}) const;

private:
  /// `ofArgument`: the stage of each argument; empty: there is one.
  Boxes split(mlir::func::FuncOp function, const StepGraph *graph,
              llvm::ArrayRef<Layout> layouts,
              llvm::ArrayRef<int> ofArgument) const;
  /// Copies the body of `function` into the block that `builder` is in; see
  /// addArguments() for the result, and Sharder::copy() for `addsPartial`.
  llvm::SmallVector<int64_t>
  copyBody(mlir::func::FuncOp function, llvm::ArrayRef<Layout> layouts,
           llvm::ArrayRef<Layout> shared, llvm::ArrayRef<int> ofArgument,
           bool addsPartial, mlir::OpBuilder &builder, Sharder &sharder) const;
  /// Whether the shards of a step send fewer bytes if additions are done before
  /// the sums of the shards.
  bool sendsLessIfPartial(mlir::func::FuncOp step, const StepGraph &graph,
                          llvm::ArrayRef<Layout> layouts,
                          llvm::ArrayRef<int> ofArgument) const;
  llvm::SmallVector<int64_t>
  addArguments(mlir::func::FuncOp function, llvm::ArrayRef<Layout> layouts,
               llvm::ArrayRef<Layout> shared, llvm::ArrayRef<int> ofArgument,
               mlir::OpBuilder &builder, Sharder &sharder) const;
  mlir::DictionaryAttr partAttributes(mlir::MLIRContext *context,
                                      mlir::DictionaryAttr whole, Layout layout,
                                      int64_t part, int64_t count) const;
  /// The number of parts of an argument of `stage`.
  int64_t partsOf(Layout layout, int stage) const {
    return layout.isSplit() ? waysOf(stage) : 1;
  }
  int64_t waysOf(int stage) const {
    return stages ? stages->ways[size_t(std::max(stage, 0))] : ways;
  }
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SPLITFUNCTION_H
