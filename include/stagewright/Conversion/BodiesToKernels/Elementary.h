//===- Elementary.h - elementary functions in arithmetic --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expansions of exp, tanh, erf and similar functions in f32 into a few
// operations of the arith and math dialects that have scalar and vector forms:
// fma, add, minimum by comparison, integer shifts. There are no tables and no
// calls, so a loop around them vectorizes with any width. The only branch is
// one for all lanes together, around the reduction of huge arguments of sin and
// cos.
//
// They rely on every operation being rounded as written: their operations carry
// no fast-math flag, and products that must be fused are written as math.fma.
//
// Coefficients and constants come from scripts/elementary-functions.sollya. The
// errors below were measured by test/Integration/test_elementary.py, which can
// test every f32.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_ELEMENTARY_H
#define STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_ELEMENTARY_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

namespace stagewright::bodies {

/// Arithmetic on values of one type, f32 or a vector of it, and on integers of
/// the same width and shape.
class Lanes {
public:
  Lanes(mlir::OpBuilder &builder, mlir::Location location, mlir::Type type);

  mlir::Value number(float value);
  mlir::Value integer(int32_t value);

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value neg(mlir::Value a);
  mlir::Value abs(mlir::Value a);
  /// a * b + c, rounded once.
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value copySign(mlir::Value magnitude, mlir::Value sign);

  mlir::Value less(mlir::Value a, mlir::Value b); ///< of floats, ordered
  mlir::Value equal(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// max(x, bound) and min(x, bound); NaN if x is NaN. With this order of
  /// operands each is one x86 instruction, which returns its second operand if
  /// one is NaN.
  mlir::Value atLeast(mlir::Value x, float bound);
  mlir::Value atMost(mlir::Value x, float bound);

  /// c[0] x^(n-1) + ... + c[n-1].
  mlir::Value horner(mlir::Value x, llvm::ArrayRef<float> coefficients);
  mlir::Value horner(mlir::Value x, llvm::ArrayRef<mlir::Value> coefficients);

  mlir::Value bits(mlir::Value x);
  mlir::Value fromBits(mlir::Value x);
  mlir::Value toFloat(mlir::Value x);
  mlir::Value addBits(mlir::Value a, mlir::Value b);
  mlir::Value subBits(mlir::Value a, mlir::Value b);
  mlir::Value mulBits(mlir::Value a, mlir::Value b);
  mlir::Value andBits(mlir::Value a, mlir::Value b);
  mlir::Value orBits(mlir::Value a, mlir::Value b);
  mlir::Value xorBits(mlir::Value a, mlir::Value b);
  mlir::Value equalBits(mlir::Value a, mlir::Value b);
  mlir::Value shiftLeft(mlir::Value x, int32_t by);
  mlir::Value shiftRight(mlir::Value x, int32_t by); ///< keeps the sign

  // The operations on bits also take 64-bit integers.
  mlir::Value wide(int64_t value);
  mlir::Value widen(mlir::Value x); ///< zero-extends
  mlir::Value narrow(mlir::Value x);
  mlir::Value shiftLeft(mlir::Value x, mlir::Value by);
  mlir::Value shiftRight(mlir::Value x, mlir::Value by); ///< keeps the sign
  mlir::Value shiftRightUnsigned(mlir::Value x, mlir::Value by);

  /// `values`, with those of `other` in the lanes where `condition` holds. For
  /// scalars and 1-D vectors `other` runs only if there is such a lane.
  llvm::SmallVector<mlir::Value>
  replaceWhere(mlir::Value condition, llvm::ArrayRef<mlir::Value> values,
               llvm::function_ref<llvm::SmallVector<mlir::Value>()> other);

private:
  mlir::OpBuilder &builder;
  mlir::Location location;
  mlir::Type floats, integers, longs;

  template <typename Op, typename... Args> Op make(Args... args);
};

// Max errors in units in the last place over all 2^32 values of f32, rounded
// up; they are the same with AVX2 and with AVX-512.
mlir::Value expandExp(Lanes &l, mlir::Value x);   ///< 1.62
mlir::Value expandExp2(Lanes &l, mlir::Value x);  ///< 1.59
mlir::Value expandExpM1(Lanes &l, mlir::Value x); ///< 1.44
mlir::Value expandLog(Lanes &l, mlir::Value x);   ///< 0.92
mlir::Value expandLog1p(Lanes &l, mlir::Value x); ///< 1.46
mlir::Value expandTanh(Lanes &l, mlir::Value x);  ///< 1.96
mlir::Value expandErf(Lanes &l, mlir::Value x);   ///< 1.57
mlir::Value expandErfc(Lanes &l, mlir::Value x);  ///< 1.82
mlir::Value expandSin(Lanes &l, mlir::Value x);   ///< 1.50
mlir::Value expandCos(Lanes &l, mlir::Value x);   ///< 1.50

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_ELEMENTARY_H
