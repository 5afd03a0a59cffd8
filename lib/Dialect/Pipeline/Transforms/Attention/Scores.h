//===- Scores.h - what is made of the scores of attention -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Starting from a product of matrices that may be queries times keys: every
// value computed from it, up to further products, and for each of their axes
// which dimension of the scores it is. The backward's other array of that
// shape, the gradient of the weights, is found where it meets these values.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SCORES_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SCORES_H

#include "EvaluateAt.h"
#include "llvm/ADT/SetVector.h"

namespace stagewright::pipeline {

/// For every axis of a value the dimension of the scores, -1 for one of extent
/// 1 that stands for all.
using Axes = llvm::SmallVector<int, 6>;

/// An operation and the dimensions that its loops walk, -1 for others.
struct Looped {
  mlir::linalg::LinalgOp op;
  Axes loops;
};

/// The loops of more than one turn over which `op` reduces.
llvm::SmallVector<unsigned> widelySummed(mlir::linalg::LinalgOp op);

class Scores {
public:
  /// Fails if something other than elementwise operations, reductions over one
  /// dimension and products reads what is made of the scores.
  static mlir::FailureOr<Scores> collect(mlir::linalg::LinalgOp product);

  mlir::linalg::LinalgOp product;
  mlir::linalg::LinalgOp gradient; ///< of the weights; null if there is none
  llvm::SmallVector<Looped> reductions;
  /// Products with a value that is made of the scores as operand `operand`.
  struct Use {
    mlir::linalg::LinalgOp op;
    unsigned operand;
  };
  llvm::SmallVector<Use> uses;
  /// What is made of the scores, in the order of finding.
  llvm::SetVector<mlir::Value> made;
  llvm::DenseMap<mlir::Value, Axes> axes;
  unsigned rank = 0;
  llvm::SmallVector<int64_t> extents;

  bool isFull(mlir::Value value) const;
  /// Dimensions of the scores that the loops of `op` walk, as far as its
  /// operands and results say.
  Axes loopsOf(mlir::linalg::LinalgOp op) const;
  /// The element of `value` for an element of the scores, and back: -1 where
  /// `value` does not say.
  Place placeIn(mlir::Value value, llvm::ArrayRef<int64_t> scores) const;
  Place scoresAt(mlir::Value value, llvm::ArrayRef<int64_t> place) const;

private:
  mlir::LogicalResult follow();
  mlir::LogicalResult visit(mlir::Operation *user);
  void look(mlir::Operation *op, unsigned depth);
  bool infer(mlir::Operation *op);
  void nameUnits(Axes &of) const;

  llvm::SetVector<mlir::Operation *> seen; ///< elementwise, and what they read
  llvm::SmallPtrSet<mlir::Operation *, 8> products; ///< that `seen` reads
  unsigned followed = 0;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SCORES_H
