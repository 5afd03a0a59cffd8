//===- Work.h - cost of repeating an operation ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A coarse classification of tensor operations, used to decide which values are
// kept for the backward and which are computed again, and which operations form
// a layer. It is not the cost model that planners use.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_WORK_H
#define STAGEWRIGHT_ANALYSIS_WORK_H

#include "mlir/IR/Operation.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::pipeline {

enum class WorkKind {
  /// Constants, empty tensors, fills: operations that read no tensor.
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
  /// Scalar operations, if the kind is not Heavy. A transcendental function
  /// counts as several.
  double flops = 0;

  bool isCheap() const { return kind != WorkKind::Heavy; }
};

/// Classifies `op`.
Work workOf(mlir::Operation *op);

/// Whether `op` is a matrix product, a convolution or attention; a
/// linalg.generic that computes dot products or multiplies a matrix by a vector
/// is not. Without scopes, layers are cut between such operations.
bool isContraction(mlir::Operation *op);

/// Whether `op` adds two float tensors of the same shape element by element.
bool isTensorAdd(mlir::Operation *op);

/// Bytes of a value: elements times element size. An element has at least one
/// byte, an index eight. 0 for types without a size.
int64_t bytesOf(mlir::Type type);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_WORK_H
