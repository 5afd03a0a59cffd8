//===- TensorUtils.h - helpers for bodies on tensors ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_TENSORUTILS_H
#define STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_TENSORUTILS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

namespace stagewright::bodies {

/// Whether every element of a tensor is known to be (positive or negative)
/// zero.
bool isZero(mlir::Value tensor);

/// A zero-filled tensor.
mlir::Value createZero(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::RankedTensorType type);

/// One elementwise operation on `value` with results of element type `type`.
mlir::Value
createElementwise(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::Value value, mlir::Type type,
                  llvm::function_ref<mlir::Value(mlir::OpBuilder &,
                                                 mlir::Location, mlir::Value)>
                      body);

/// Creates an operation that adds `addend`, of the same type, to `sum`, its
/// init: in place after bufferization.
mlir::Value createUpdate(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value sum, mlir::Value addend);

/// If `op` adds `sum` and another tensor element by element, that tensor; else
/// null.
mlir::Value matchAdd(mlir::Operation *op, mlir::Value sum);

/// The operation that adds to the initial value of `op`, if `op` has one
/// result, yields that sum, and does not use the initial value or the sum
/// otherwise; else null.
mlir::Operation *matchAddToInit(mlir::linalg::LinalgOp op);

/// Whether both slices have the same offsets, sizes and strides.
bool isSamePart(mlir::tensor::ExtractSliceOp read,
                mlir::tensor::InsertSliceOp write);

/// The operand whose buffer `result` overwrites, if possible (an init, the
/// destination of an insertion, the initial value of a loop); else null.
mlir::OpOperand *findDestination(mlir::OpResult result);

/// If `value` only has elements of `source`, for example transposed or
/// broadcast, the map from indices of `value` to indices of `source`; else a
/// null map.
mlir::AffineMap matchCopy(mlir::Value value, mlir::Value &source);

/// The two multiplied operands of a generic with a reduction loop whose body is
/// `out + a * b`, where every value may be extended and the sum truncated; or
/// nothing.
std::optional<std::pair<mlir::OpOperand *, mlir::OpOperand *>>
matchSumOfProducts(mlir::linalg::GenericOp op);

/// Whether `op` is a `linalg.generic` that is a convolution in float32 or
/// float64, with a static shape: a sum of products with rows, columns and terms
/// like a contraction, in which two loops index one dimension of an operand
/// together.
bool isConvolution(mlir::Operation *op);

/// Converts the named operations on tensors below `root` that are `wanted` to
/// `linalg.generic`.
void generalizeNamed(mlir::Operation *root, mlir::RewriterBase &rewriter,
                     llvm::function_ref<bool(mlir::Operation *)> wanted);

/// Whether each element of the result of `op`, on tensors, can be computed by
/// itself, from elements of the inputs.
bool isElementwise(mlir::linalg::GenericOp op);

/// The product of the loop extents of `op`, which must be static.
int64_t pointsOf(mlir::linalg::LinalgOp op);

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_TENSORUTILS_H
