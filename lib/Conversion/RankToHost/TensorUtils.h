//===- TensorUtils.h - small facts about bodies on tensors ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_TENSORUTILS_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_TENSORUTILS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

namespace stagewright::host {

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

/// `sum` with `addend`, of the same type, added in place.
mlir::Value createUpdate(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value sum, mlir::Value addend);

/// If `op` adds `sum` and another tensor element by element, that tensor.
mlir::Value matchAdd(mlir::Operation *op, mlir::Value sum);

/// The addition of which `op` makes its only result, if that adds to the
/// initial value and nothing else in `op` uses the initial value or the total;
/// or null.
mlir::Operation *matchAddToInit(mlir::linalg::LinalgOp op);

/// Whether `write` writes the part of an array that `read` reads.
bool isSamePart(mlir::tensor::ExtractSliceOp read,
                mlir::tensor::InsertSliceOp write);

/// The operand over which `result` is written if it can be (an init, what is
/// inserted into, what a loop starts from), or null.
mlir::OpOperand *findDestination(mlir::OpResult result);

/// If `value` is a copy of `source` with its dimensions permuted or broadcast,
/// the map from indices of `value` to indices of `source`; else a null map.
mlir::AffineMap matchCopy(mlir::Value value, mlir::Value &source);

/// The two multiplied operands of a generic whose body is `out + a * b` (a and
/// b perhaps widened), or nothing.
std::optional<std::pair<mlir::OpOperand *, mlir::OpOperand *>>
matchSumOfProducts(mlir::linalg::GenericOp op);

/// Writes the named operations on tensors below `root` that are `wanted` as
/// `linalg.generic`.
void generalizeNamed(mlir::Operation *root, mlir::RewriterBase &rewriter,
                     llvm::function_ref<bool(mlir::Operation *)> wanted);

/// Patterns that remove sums over one element from `linalg.generic`.
void populateSimplifyUnitSums(mlir::RewritePatternSet &patterns);

/// Those, and reads through reshapes that only add or drop dimensions of extent
/// one.
void populateSimplifyUnits(mlir::RewritePatternSet &patterns);

/// A pattern that computes elements of an array where indices read them, if
/// they are no more than the array has, rather than the array.
void populateReadElements(mlir::RewritePatternSet &patterns);

/// A pattern that adds one term in the place of a sum over a loop of which the
/// terms are zero in all turns but one.
void populateSumOneHots(mlir::RewritePatternSet &patterns);

/// The number of points of the loops of `op`, whose shape is static.
int64_t pointsOf(mlir::linalg::LinalgOp op);

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_TENSORUTILS_H
