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
// the gradient of the weights (the result of the softmax), is found where it is
// combined with these values.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SCORES_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SCORES_H

#include "ElementFormulas.h"
#include "llvm/ADT/SetVector.h"

namespace stagewright::pipeline {

/// An operation and, for each of its loops, the dimension of the scores;
/// negative for a loop that has none.
struct Looped {
  mlir::linalg::LinalgOp op;
  Axes loops;
};

/// The reduction loops of `op` with more than one iteration.
llvm::SmallVector<unsigned> widelySummed(mlir::linalg::LinalgOp op);

class Scores {
public:
  /// Fails if a value computed from the scores is read by other operations than
  /// elementwise ones, reductions over at most one dimension, and products with
  /// another operand; if there are too many values; or if several products may
  /// make the gradient of the weights.
  static mlir::FailureOr<Scores> collect(mlir::linalg::LinalgOp product);

  mlir::linalg::LinalgOp product;
  mlir::linalg::LinalgOp gradient; ///< makes that of the weights; or null
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
  /// For each loop of `op`: its dimension of the scores, if operands or results
  /// show it; else negative.
  Axes loopsOf(mlir::linalg::LinalgOp op) const;
  /// `place` describes an element of `value`: for each axis, the dimension of
  /// the scores whose index the element has there; negative for index 0.
  /// Returns the same for each dimension of the scores: what `place` has on its
  /// axis of `value`, with kZero for index 0 and for dimensions of extent 1;
  /// kAbsent if `value` has no axis for it.
  llvm::SmallVector<int64_t> indicesOf(mlir::Value value,
                                       llvm::ArrayRef<int> place) const;
  static constexpr int64_t kAbsent = -1, kZero = -2;

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
