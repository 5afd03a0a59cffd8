//===- TinyFloats.h - rounding to numbers of 8 bits -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_MATH_TINYFLOATS_H
#define STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_MATH_TINYFLOATS_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace stagewright::bodies {

/// Patterns that express rounding to f8E4M3FN and f8E5M2, and widening from
/// them, by arithmetic on float32 and integers.
void populateTinyFloatPatterns(mlir::RewritePatternSet &patterns);

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_MATH_TINYFLOATS_H
