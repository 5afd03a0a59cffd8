//===- ScalarFunction.h - what element of a result is of others -*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An elementwise operation, with those that make its operands, as one function
// of the elements at the same place of a few arrays. There are many ways to
// write one function, and each framework, derivative and simplification has its
// own; so functions are told apart by their values: two that agree to six
// digits at some sixty points are the same one. Rounding to narrower types is
// left out, and a constant of a narrow type counts as the well-known number
// that it was rounded from.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_SCALARFUNCTION_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_SCALARFUNCTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"

namespace stagewright::device {

class ScalarFunction {
public:
  /// An array of the result's shape, or a row that is the same for all rows.
  struct Leaf {
    mlir::Value array;
    bool isRow;
    bool operator==(const Leaf &other) const {
      return array == other.array && isRow == other.isRow;
    }
  };

  /// Of the only result of `op`; fails where it is no such function.
  static mlir::FailureOr<ScalarFunction> get(mlir::linalg::GenericOp op);

  /// The arrays it depends on.
  llvm::ArrayRef<Leaf> leaves() const { return list; }

  /// Whether it is `wanted` of the arguments that belong to `leaves`, which
  /// must be all of its own.
  bool is(llvm::ArrayRef<Leaf> leaves,
          llvm::function_ref<double(llvm::ArrayRef<double>)> wanted) const;

  /// Writes it into the body of another operation. A leaf may be rounded
  /// already to what the function rounds it to.
  mlir::Value write(mlir::OpBuilder &builder,
                    llvm::function_ref<mlir::Value(const Leaf &)> leaf) const;

private:
  mlir::Value result;
  llvm::SmallVector<Leaf> list;
};

/// GELU by tanh, and its derivative.
double gelu(double x);
double geluDerivative(double x);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_SCALARFUNCTION_H
