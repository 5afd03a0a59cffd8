//===- RecomputeCuts.h - bytes kept against seconds added -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a backward reads of its layer's forward can be kept or computed again
// from what is kept: activation checkpointing by operations. A choice is a cut
// of the forward's body, as in Stash.h; here every operation may be repeated,
// contractions too, at the seconds that it takes. With a price for a byte the
// cheapest choice is a minimum cut; the choices that are cheapest at some price
// are the corners of the convex hull of (bytes, seconds), found by asking for
// the price at which two neighbours cost the same (the parametric cut of G.
// Gallo, M. Grigoriadis and R. Tarjan, 1989, on few prices).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_RECOMPUTECUTS_H
#define STAGEWRIGHT_ANALYSIS_RECOMPUTECUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Cost/Cluster.h"

namespace stagewright::pipeline {

/// What a choice is made about.
struct RecomputeQuestion {
  mlir::func::FuncOp body; ///< Of the forward.
  /// Results of it that the layer's own backward reads.
  std::vector<unsigned> demanded;
  /// Arguments and results whose bytes are held for backwards whatever is
  /// chosen.
  std::vector<bool> argumentIsHeld, resultIsHeld;
};

/// One choice.
struct RecomputeCut {
  int64_t bytes = 0;  ///< Kept, beside what is held anyway.
  double seconds = 0; ///< Of what is computed again.
  /// Values of the body that are kept, in its order, and arguments read again.
  std::vector<mlir::Value> kept;
  std::vector<unsigned> arguments;
  /// Operations done again, in the order of the body.
  std::vector<mlir::Operation *> again;
};

/// Choices by falling bytes and rising seconds, each cheapest at some price of
/// a byte: from the one next to keeping all that is demanded, which is not
/// among them, to keeping the least. Operations take what they take on
/// `device`. At most `most`, the last one among them.
std::vector<RecomputeCut> recomputeCuts(const RecomputeQuestion &question,
                                        const Device &device, size_t most);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_RECOMPUTECUTS_H
