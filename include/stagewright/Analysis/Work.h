//===- Work.h - what an operation costs to do again -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A coarse classification of tensor operations, enough to decide what is kept
// for the backward and what is computed again, and which operations make a
// layer. It is not the cost model that plans are made with.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_WORK_H
#define STAGEWRIGHT_ANALYSIS_WORK_H

#include "mlir/IR/Operation.h"

namespace stagewright::pipeline {

enum class WorkKind {
  /// Constants, empty tensors, fills: no input.
  Constant,
  /// Moves, renames or repeats elements: slices, reshapes, broadcasts,
  /// transpositions, copies.
  Move,
  /// One scalar computation per element of the result.
  Elementwise,
  /// Everything else: reductions, contractions, gathers, loops.
  Heavy,
};

struct Work {
  WorkKind kind;
  /// Scalar operations to do it once; only for kinds other than Heavy. A
  /// transcendental function counts as many.
  double flops = 0;

  bool isCheap() const { return kind != WorkKind::Heavy; }
};

/// Classifies `op`.
Work workOf(mlir::Operation *op);

/// Whether `op` sums products over a dimension (matrix products, convolutions):
/// what layers are made of.
bool isContraction(mlir::Operation *op);

/// Whether `op` adds two tensors of one shape element by element.
bool isTensorAdd(mlir::Operation *op);

/// Bytes of a value: elements times element size, i1 and narrower in one byte,
/// index in eight. 0 for other types.
int64_t bytesOf(mlir::Type type);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_WORK_H
