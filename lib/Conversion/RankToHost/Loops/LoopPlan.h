//===- LoopPlan.h - which loop becomes vectors, and how wide ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A choice for one LoopSpace, by the cost of its memory accesses. The vector
// loop is innermost if it reduces (a sum along a row), and outside of the loops
// that reduce if it does not (a sum of rows): sums stay in registers either
// way.
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
  /// The loop that becomes vectors, or -1: one point.
  int vector = -1;
  /// Lanes, and how many vectors one turn computes.
  int64_t width = 1, unroll = 1;
  /// Loops around it that do not reduce, and loops that do, outermost first.
  llvm::SmallVector<unsigned> outer, reductions;
  /// Results that a turn of any reducing loop adds to: they stay in registers.
  llvm::SmallVector<unsigned> carried;
  /// For each carried result, what combines two parts of it. Empty when turns
  /// must follow one another.
  llvm::SmallVector<mlir::Operation *> combiners;
  /// The loop that operands are contiguous in which are strided along the
  /// vector loop, or -1: both are walked in square blocks, `width` a side.
  int across = -1;
  /// Operations of the body whose values differ along the vector loop.
  llvm::DenseSet<mlir::Operation *> varying;

  /// Whether the vector loop itself reduces.
  bool isHorizontal(const LoopSpace &space) const {
    return vector >= 0 && space.reduced[vector];
  }

  /// Elements that the loop of whole turns computes.
  int64_t wholeTurns(const LoopSpace &space) const {
    int64_t turn = width * unroll;
    return vector < 0 ? 0 : space.extents[vector] / turn * turn;
  }

  /// What is left behind it: whole vectors, then halves.
  llvm::SmallVector<Piece> rest(const LoopSpace &space) const;

  /// Whether an operand is read in blocks, and transposed in registers.
  bool isTransposed(const Access &access) const {
    return across >= 0 && access.isBuffer() && access.steps[across] == 1 &&
           access.steps[vector] != 0;
  }

  /// Failure for bodies with operations that have no vector form and results
  /// that some, but not all reducing loops move.
  static mlir::FailureOr<LoopPlan> get(LoopSpace &space, unsigned vectorBits);

private:
  void chooseBlocks(LoopSpace &space, int64_t instructions);
};

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPPLAN_H
