//===- Scores.h - values computed from scores of attention ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Starts from a matrix product that may be queries times keys. Finds every
// value computed from it, up to further products, and for each of their axes
// the dimension of the scores. The other product of that shape in the backward,
// the gradient of the weights, is found where it is combined with these values.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SCORES_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SCORES_H

#include "EvaluateAt.h"
#include "llvm/ADT/SetVector.h"

namespace stagewright::pipeline {

/// For every axis of a value: its dimension of the scores, or -1 for an axis of
/// extent 1 that is broadcast.
using Axes = llvm::SmallVector<int, 6>;

/// An operation and, by loop, the dimension of the scores; negative for others.
struct Looped {
  mlir::linalg::LinalgOp op;
  Axes loops;
};

/// The reduction loops of `op` with more than one iteration.
llvm::SmallVector<unsigned> widelySummed(mlir::linalg::LinalgOp op);

class Scores {
public:
  /// Fails if a value computed from the scores is read by other operations than
  /// elementwise ones, reductions over one dimension, and products.
  static mlir::FailureOr<Scores> collect(mlir::linalg::LinalgOp product);

  mlir::linalg::LinalgOp product;
  mlir::linalg::LinalgOp gradient; ///< of the weights, or null
  llvm::SmallVector<Looped> reductions;
  /// Products whose operand number `operand` is computed from the scores.
  struct Use {
    mlir::linalg::LinalgOp op;
    unsigned operand;
  };
  llvm::SmallVector<Use> uses;
  /// The values computed from the scores, in the order in which they are found.
  llvm::SetVector<mlir::Value> made;
  llvm::DenseMap<mlir::Value, Axes> axes;
  unsigned rank = 0;
  llvm::SmallVector<int64_t> extents;

  bool isFull(mlir::Value value) const;
  /// By loop of `op`: its dimension of the scores, as far as operands and
  /// results show it; negative for others.
  Axes loopsOf(mlir::linalg::LinalgOp op) const;
  /// The element of `value` for an element of the scores, and the reverse, with
  /// -1 for dimensions that `value` does not have.
  Place placeIn(mlir::Value value, llvm::ArrayRef<int64_t> scores) const;
  Place scoresAt(mlir::Value value, llvm::ArrayRef<int64_t> place) const;

private:
  mlir::LogicalResult follow();
  mlir::LogicalResult visit(mlir::Operation *user);
  void look(mlir::Operation *op, unsigned depth);
  bool infer(mlir::Operation *op);
  void nameUnits(Axes &of) const;

  llvm::SetVector<mlir::Operation *> seen;          ///< used to infer axes
  llvm::SmallPtrSet<mlir::Operation *, 8> products; ///< that `seen` reads
  unsigned followed = 0;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SCORES_H
