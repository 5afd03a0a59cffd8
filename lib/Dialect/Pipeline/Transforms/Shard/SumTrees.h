//===- SumTrees.h - additions of partial and other values -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trees of additions, of operations that move their only input, and of paddings
// with zeros. Each value in a tree, except that of its root, is read only by
// the next operation of the tree. All of these are linear: if their inputs are
// partial, so are their results.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SUMTREES_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SUMTREES_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace stagewright::pipeline {

/// The values of which `op` is a sum; or the only one, if `op` moves it or pads
/// it with zeros.
llvm::SmallVector<mlir::Value> addendsOf(mlir::Operation &op);

/// Whether a reader of `value` may move it to a larger value.
bool growsBehind(mlir::Value value);

/// The trees of a block, of at most 1,000 operations each besides the root, in
/// which at least two of three or more inputs can be partial. All operations of
/// a tree have the same number in `groups`, 0 if they have none there.
struct SumTrees {
  using Groups = llvm::DenseMap<mlir::Operation *, int>;
  SumTrees() = default;
  explicit SumTrees(mlir::Block &block, const Groups &groups = Groups());

  /// By operation of a tree other than its root: the root.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> rootOf;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SUMTREES_H
