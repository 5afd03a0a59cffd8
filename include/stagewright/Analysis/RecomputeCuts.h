//===- RecomputeCuts.h - trade-off of kept bytes and added time -*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forward value that its layer's backward reads can be kept, or computed
// again from values that are kept: activation checkpointing per operation. A
// choice is a cut of the forward's body, as in Stash.h; here every operation
// may be repeated, contractions too, at the cost of its seconds. For a given
// price of a byte the cheapest choice is a minimum cut. The choices that are
// cheapest at some price are the corners of the convex hull of (bytes,
// seconds). They are found by solving at the price at which two neighbours cost
// the same (parametric cut; G. Gallo, M. Grigoriadis and R. Tarjan, 1989).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_RECOMPUTECUTS_H
#define STAGEWRIGHT_ANALYSIS_RECOMPUTECUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Cost/Cluster.h"

namespace stagewright::pipeline {

/// The input: one layer's forward and what its backward reads.
struct RecomputeQuestion {
  mlir::func::FuncOp body; ///< The body of the forward.
  /// Numbers of its results that the layer's own backward reads.
  std::vector<unsigned> demanded;
  /// Whether an argument or result is held until the backward for every choice,
  /// so that its bytes do not count.
  std::vector<bool> argumentIsHeld, resultIsHeld;
};

/// One choice.
struct RecomputeCut {
  int64_t bytes = 0;  ///< Of kept values, without those held anyway.
  double seconds = 0; ///< Of the repeated operations.
  /// Values kept, in program order, and numbers of the arguments read again.
  std::vector<mlir::Value> kept;
  std::vector<unsigned> arguments;
  /// Repeated operations, in program order.
  std::vector<mlir::Operation *> again;
};

/// Choices in order of falling bytes and rising seconds, each cheapest at some
/// price of a byte. The choice that keeps all demanded values would come first,
/// but is not included; the last one keeps the fewest bytes. Seconds are those
/// on `device`. Returns at most `most` choices, always with the last one.
std::vector<RecomputeCut> recomputeCuts(const RecomputeQuestion &question,
                                        const Device &device, size_t most);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_RECOMPUTECUTS_H
