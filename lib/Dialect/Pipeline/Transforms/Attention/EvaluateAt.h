//===- EvaluateAt.h - one element of a tensor, as a number ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an element of a tensor is worth, in real numbers, by following
// definitions back to values whose elements are given. Two formulas that agree
// at random numbers agree everywhere, but for an accident of measure zero (J.
// Schwartz and R. Zippel's test of identities), so that a gradient is
// recognised however it is written. Roundings to narrow types are left out.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_EVALUATEAT_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_EVALUATEAT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <functional>

namespace stagewright::pipeline {

/// Indices of an element.
using Place = llvm::SmallVector<int64_t, 6>;

/// The linalg operation behind `value` if its elements are independent of each
/// other: each is found by `loopsAt`.
mlir::linalg::LinalgOp parallelOf(mlir::Value value);

class Evaluator {
public:
  using Leaf = std::function<std::optional<double>(llvm::ArrayRef<int64_t>)>;

  /// The elements of these are given.
  llvm::DenseMap<mlir::Value, Leaf> leaves;

  /// The element of `value` at `place`; nothing where a definition is unknown
  /// or far away.
  std::optional<double> at(mlir::Value value, llvm::ArrayRef<int64_t> place);

  /// What `value` of the body of `op` is worth at `loops`.
  std::optional<double> inBody(mlir::linalg::LinalgOp op, mlir::Value value,
                               llvm::ArrayRef<int64_t> loops);

private:
  std::optional<double> element(mlir::Value value,
                                llvm::ArrayRef<int64_t> place);
  std::optional<double> body(mlir::linalg::LinalgOp op, mlir::Value value,
                             llvm::ArrayRef<int64_t> loops,
                             llvm::DenseMap<mlir::Value, double> &known);

  unsigned steps = 0; ///< left of this question
};

/// A number in [0.5, 1.5) that depends on `seed` and `place` alone.
double numberAt(uint64_t seed, llvm::ArrayRef<int64_t> place);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_EVALUATEAT_H
