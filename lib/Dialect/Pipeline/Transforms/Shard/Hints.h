//===- Hints.h - how parameters are split -----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Users give hints by name: `GLOB=DIM`, `GLOB=DIM:CHUNKS` if the dimension
// holds several arrays side by side, `GLOB=DIM:CHUNKS:UNIT` if UNIT elements in
// a row must stay together, as those of a head, `GLOB=whole`, or `GLOB=auto`
// for the fastest (Choose.h). The first hint that matches a name wins. A
// parameter that no hint matches is split by `pipeline.split_dim`, which
// importers read from the model's own file, or which follows from constraints
// on other values. All others are whole; if there are no hints and the file
// splits no parameter, they are auto. A batch or a constant is split by a hint
// with exactly its name.
//
// On a grid of shards a hint has an entry for each axis, `GLOB=DIM;DIM`, and
// the model's file may split batches too. Nothing is auto.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_HINTS_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_HINTS_H

#include "Layout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace stagewright::pipeline {

/// The layouts of the arguments of a step as given.
struct HintedLayouts {
  llvm::SmallVector<Layout> layouts; ///< By argument; of open ones, whole.
  llvm::SmallVector<unsigned> open;  ///< Parameters that are auto, ascending.
  /// By argument: whether a hint or the model's file says how it is split.
  std::vector<bool> isStated;
  /// By argument: the part of a batch that each shard works on; empty if
  /// neither a hint nor the model's file splits a batch.
  llvm::SmallVector<Layout> batches = {};
};

/// The axis of shards over which a step is split next.
struct ShardAxis {
  llvm::ArrayRef<int64_t> sizes; ///< The numbers of shards along all axes.
  unsigned number = 0;
  /// By argument: the number of shards of its stage; empty: all are equal.
  llvm::ArrayRef<int64_t> byArgument = {};

  /// The axis over which argument `i` is split.
  ShardAxis of(unsigned i) const {
    return byArgument.empty() ? *this
                              : ShardAxis{byArgument.slice(i, 1), number};
  }
  bool isOfGrid() const { return sizes.size() > 1; }
  int64_t ways() const { return sizes[number]; }
  /// "2 shards", or on a grid "2 shards of the first axis".
  std::string text() const;
};

/// The layouts of the arguments of `step` over `axis`: whole, except for
/// parameters that `hints`, separated by commas, or attributes split, and
/// constants that `hints` split. A step that the axes before have split has
/// parts of arguments instead of these. Emits a remark if the model's file
/// splits parameters over a grid, and there is one axis; if a constraint splits
/// parameters over one axis, and there is a grid; or if a split over a grid
/// that follows from a constraint does not fit. Fails with an error if a hint
/// is malformed or applies to no argument, if an argument has no part for every
/// shard, or if the file splits a parameter over one axis, and there is a grid.
mlir::FailureOr<HintedLayouts>
readLayouts(mlir::func::FuncOp step, mlir::StringRef hints, ShardAxis axis);

/// `name` as a glob: every number in it becomes `*`.
std::string withoutNumbers(llvm::StringRef name);

/// Hints equivalent to `layouts` of parameters, and `batches` unless it is
/// empty. Parameters whose names differ only in numbers share one hint if they
/// are split alike.
std::string writeHints(mlir::func::FuncOp step, llvm::ArrayRef<Layout> layouts,
                       llvm::ArrayRef<Layout> batches = {});

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_HINTS_H
