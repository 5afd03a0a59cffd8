//===- Patterns.h - rewrite patterns of fusion ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_FUSION_PATTERNS_H
#define STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_FUSION_PATTERNS_H

#include "mlir/IR/PatternMatch.h"

namespace stagewright::bodies {

/// Patterns on `linalg.generic` that remove sums over one element, read scalars
/// instead of filled initial values, and turn copies that only drop dimensions
/// of extent 1 into reshapes.
void populateSimplifyUnitSums(mlir::RewritePatternSet &patterns);

/// The patterns above, and one that reads through reshapes that only add or
/// drop dimensions of extent 1.
void populateSimplifyUnits(mlir::RewritePatternSet &patterns);

/// A pattern for arrays that are read at computed indices: computes each
/// element where it is read instead of the whole array, if no more elements are
/// read than the array has, or if it has rank 0.
void populateReadElements(mlir::RewritePatternSet &patterns);

/// A pattern for arrays of which a body reads only slices, at most half of
/// their elements: computes the slices.
void populateComputeSlices(mlir::RewritePatternSet &patterns);

/// A pattern for sums over a loop of which only one iteration has a term other
/// than zero: replaces the sum by that term.
void populateSumOneHots(mlir::RewritePatternSet &patterns);

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_FUSION_PATTERNS_H
