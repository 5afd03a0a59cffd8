//===- Dilations.h - convolutions of dilated operands -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_CONVOLUTIONS_DILATIONS_H
#define STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_CONVOLUTIONS_DILATIONS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace stagewright::bodies {

/// The insertion into zeros, at constant places, that makes `value`; else null.
mlir::tensor::InsertSliceOp matchInsertIntoZeros(mlir::Value value);

/// Rewrites convolution `op`, a gradient, so that it reads no operand that is
/// dilated with zeros. Calls `raise` for each convolution of the new form;
/// `raise` returns its result. Returns whether `op` was replaced.
bool avoidDilation(
    mlir::linalg::GenericOp op, mlir::RewriterBase &rewriter,
    llvm::function_ref<mlir::Value(mlir::linalg::GenericOp)> raise);

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_CONVOLUTIONS_DILATIONS_H
