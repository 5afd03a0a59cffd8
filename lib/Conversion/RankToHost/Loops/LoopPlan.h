//===- LoopPlan.h - which loop is vectorized, and how -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Selects the loop of a LoopSpace to vectorize, by the cost of its memory
// accesses. The vector loop is innermost if it reduces (a sum along a row), and
// outside the reducing loops if it does not (a sum of rows). In both cases sums
// stay in registers.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPPLAN_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPPLAN_H

#include "LoopSpace.h"
#include "llvm/ADT/DenseSet.h"

namespace stagewright::host {

/// Part of the vector loop: `width` elements from `first` on.
struct Piece {
  int64_t first;
  int64_t width;
};

struct LoopPlan {
  /// The loop that is vectorized, or -1 if the space has no loops.
  int vector = -1;
  /// Lanes of a vector, and vectors per iteration.
  int64_t width = 1, unroll = 1;
  /// The other loops: those that do not reduce, those that do, outermost first.
  llvm::SmallVector<unsigned> outer, reductions;
  /// Results with the same address in all iterations of the reducing loops:
  /// they stay in registers.
  llvm::SmallVector<unsigned> carried;
  /// For each carried result: the operation that combines two partial results,
  /// or null. Empty if the vector loop must run in sequence.
  llvm::SmallVector<mlir::Operation *> combiners;
  /// Operations of the body whose values differ along the vector loop.
  llvm::DenseSet<mlir::Operation *> varying;

  /// Whether the vector loop itself reduces.
  bool isHorizontal(const LoopSpace &space) const {
    return vector >= 0 && space.reduced[vector];
  }

  /// Elements that full iterations of the vector loop compute.
  int64_t wholeTurns(const LoopSpace &space) const {
    int64_t turn = width * unroll;
    return vector < 0 ? 0 : space.extents[vector] / turn * turn;
  }

  /// The remaining elements: full vectors, then vectors of half the width, etc.
  llvm::SmallVector<Piece> rest(const LoopSpace &space) const;

  /// Fails if an operation of the body has no vector form, or if a result is
  /// indexed by some but not all of the reducing loops, or not by all other
  /// loops.
  static mlir::FailureOr<LoopPlan> get(LoopSpace &space, unsigned vectorBits);
};

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPPLAN_H
