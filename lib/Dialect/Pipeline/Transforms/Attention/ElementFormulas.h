//===- ElementFormulas.h - the formula of a tensor's element ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formula of an element of a tensor, traced back to values whose elements
// are given. Its indices are given as dimensions of the scores of attention, so
// the formula holds for every element of the scores. Definitions may only
// permute or drop indices.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_ELEMENTFORMULAS_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_ELEMENTFORMULAS_H

#include "stagewright/Analysis/ElementTrace.h"
#include "stagewright/Analysis/Formula.h"
#include <functional>

namespace stagewright::pipeline {

/// For every axis of a value, or loop of an operation: its dimension of the
/// scores. Negative for an axis of extent 1 that is broadcast; a negative index
/// means 0.
using Axes = llvm::SmallVector<int, 6>;

/// The axes of a tensor of shape `to` that is reshaped from, or to, one of
/// shape `from` with `axes`; none if the shapes differ in other axes than those
/// of extent 1.
std::optional<Axes> reshapeAxes(llvm::ArrayRef<int> axes,
                                llvm::ArrayRef<int64_t> from,
                                llvm::ArrayRef<int64_t> to);

class ElementFormulas : ElementTrace<Formula, int> {
public:
  using Leaf = std::function<Formula(llvm::ArrayRef<int>)>;

  Formulas formulas;
  /// Functions that return the elements of given values.
  llvm::DenseMap<mlir::Value, Leaf> leaves;
  /// Whether an i1 value holds: in the body of an operation at the indices of
  /// its loops, or, without an operation, the element of a tensor. None if
  /// that has to be traced back.
  std::function<std::optional<bool>(mlir::linalg::LinalgOp, mlir::Value,
                                    llvm::ArrayRef<int>)>
      condition;

  /// The element of `value` at `place`; unknown if an operation is not
  /// supported, or too many are traced.
  Formula at(mlir::Value value, llvm::ArrayRef<int> place) {
    begin();
    return element(value, place);
  }

  /// The value of `value`, in the body of `op`, at loop indices `loops`.
  Formula inBody(mlir::linalg::LinalgOp op, mlir::Value value,
                 llvm::ArrayRef<int> loops) {
    begin();
    return continueInBody(op, value, loops);
  }
  /// The same for functions in `leaves`, as a part of the evaluation that calls
  /// them.
  Formula continueInBody(mlir::linalg::LinalgOp op, mlir::Value value,
                         llvm::ArrayRef<int> loops) {
    return ElementTrace::inBody(op, value, loops);
  }

private:
  std::optional<Formula> given(mlir::linalg::LinalgOp op, mlir::Value value,
                               llvm::ArrayRef<int> place) override;
  Formula apply(mlir::Operation *op,
                llvm::ArrayRef<Formula> operands) override {
    return formulas.apply(op, operands);
  }
  Formula unknown() const override { return Formula::unknown(); }
  int zero() const override { return -1; }
  std::optional<Axes> beforeReshape(mlir::Operation *op,
                                    llvm::ArrayRef<int> place) override;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_ELEMENTFORMULAS_H
