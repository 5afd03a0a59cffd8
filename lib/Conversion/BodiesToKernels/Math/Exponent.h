//===- Exponent.h - splitting off a power of two ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Range reduction rounds to an integer by an addition: 1.5 * 2^23 plus a small
// number has that number, rounded, in its last bits, and a shift moves these to
// the exponent (Muller et al., Handbook of Floating-Point Arithmetic, 2nd
// edition, 10.2).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_MATH_EXPONENT_H
#define STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_MATH_EXPONENT_H

#include "stagewright/Conversion/BodiesToKernels/Elementary.h"

namespace stagewright::bodies {

/// 1.5 * 2^23: adding it rounds to an integer.
inline constexpr float kRounder = 12582912.0f;
/// ln 2 in two parts: products of the first with integers up to 2^9 are exact.
inline constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;
inline constexpr float kLn2 = 0x1.62e43p-1f, kLog2E = 0x1.715476p0f;

/// An integer n as a float, and 2^(n + bias).
struct Power {
  mlir::Value whole, power;
};

/// Rounds x * scale to the nearest integer n; the caller computes the
/// remainder. 2^(n + bias) must be normal.
inline Power nearest(Lanes &l, mlir::Value x, float scale, int bias = 0) {
  mlir::Value rounder = l.number(kRounder + 127 + bias);
  mlir::Value sum =
      scale == 1 ? l.add(x, rounder) : l.fma(x, l.number(scale), rounder);
  return {l.sub(sum, rounder), l.fromBits(l.shiftLeft(l.bits(sum), 23))};
}

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_MATH_EXPONENT_H
