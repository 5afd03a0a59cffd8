//===- ScalarFunction.h - elementwise operations as functions ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An elementwise operation, together with the elementwise operations that make
// its operands, as one function of the elements of a few arrays at the same
// indices. Two are compared by their formulas. A constant of a narrow type that
// is a rounded constant of GELU counts as that constant.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_SCALARFUNCTION_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_SCALARFUNCTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "stagewright/Analysis/Formula.h"
#include "llvm/ADT/MapVector.h"

namespace stagewright::device {

class ScalarFunction {
public:
  /// An array of the result's shape, or one row that is used for all rows.
  struct Leaf {
    mlir::Value array;
    bool isRow;
    bool operator==(const Leaf &other) const {
      return array == other.array && isRow == other.isRow;
    }
  };

  /// The function of the only result of `op`; fails if it is not elementwise.
  static mlir::FailureOr<ScalarFunction> get(mlir::linalg::GenericOp op);

  /// The arrays it depends on.
  llvm::ArrayRef<Leaf> leaves() const { return list; }

  /// Whether it equals the formula `wanted`, whose arguments are `leaves` in
  /// this order. False if `leaves` are not exactly its leaves.
  bool is(llvm::ArrayRef<Leaf> leaves,
          llvm::function_ref<Formula(Formulas &, llvm::ArrayRef<Formula>)>
              wanted) const;

  /// Writes it into the body of another operation. A leaf may already have the
  /// type to which the function rounds it.
  mlir::Value write(mlir::OpBuilder &builder,
                    llvm::function_ref<mlir::Value(const Leaf &)> leaf) const;

private:
  mlir::linalg::GenericOp op;
  llvm::SmallVector<Leaf> list;
};

/// The tanh approximation of GELU, and its derivative.
Formula gelu(Formulas &formulas, const Formula &x);
Formula geluDerivative(Formulas &formulas, const Formula &x);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_SCALARFUNCTION_H
