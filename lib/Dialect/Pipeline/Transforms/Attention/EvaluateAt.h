//===- EvaluateAt.h - evaluate one element of a tensor ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates an element of a tensor, in real numbers, by tracing definitions
// back to values whose elements are given. Two formulas that agree at random
// numbers agree everywhere except with probability zero (identity testing of J.
// Schwartz and R. Zippel), so a gradient is recognised however it is written.
// Rounding to narrow types is ignored.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_EVALUATEAT_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_EVALUATEAT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <functional>

namespace stagewright::pipeline {

/// Indices of an element.
using Place = llvm::SmallVector<int64_t, 6>;

/// The linalg operation that makes `value`, if it computes each element
/// independently, at its own loop indices; else null.
mlir::linalg::LinalgOp parallelOf(mlir::Value value);

class Evaluator {
public:
  using Leaf = std::function<std::optional<double>(llvm::ArrayRef<int64_t>)>;

  /// Functions that return the elements of given values.
  llvm::DenseMap<mlir::Value, Leaf> leaves;

  /// The element of `value` at `place`; none if an operation is unknown or the
  /// evaluation takes too many steps.
  std::optional<double> at(mlir::Value value, llvm::ArrayRef<int64_t> place);

  /// Evaluates `value`, in the body of `op`, at loop indices `loops`.
  std::optional<double> inBody(mlir::linalg::LinalgOp op, mlir::Value value,
                               llvm::ArrayRef<int64_t> loops);

private:
  std::optional<double> element(mlir::Value value,
                                llvm::ArrayRef<int64_t> place);
  std::optional<double> body(mlir::linalg::LinalgOp op, mlir::Value value,
                             llvm::ArrayRef<int64_t> loops,
                             llvm::DenseMap<mlir::Value, double> &known);

  unsigned steps = 0; ///< left in the current evaluation
};

/// A number in [0.5, 1.5) that depends only on `seed` and `place`.
double numberAt(uint64_t seed, llvm::ArrayRef<int64_t> place);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_EVALUATEAT_H
