//===- Trigonometry.cpp - sin and cos as arithmetic -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments are reduced to multiples of a quarter turn and a rest: up to 2^16
// with pi / 2 in three parts (Cody and Waite, Software Manual for the
// Elementary Functions, 1980), above that with the bits of 2 / pi that affect
// the result (Payne and Hanek, Radian reduction for trigonometric functions,
// 1983).
//
//===----------------------------------------------------------------------===//

#include "Exponent.h"
#include "stagewright/Dialect/LLVM.h"

#include <cmath>

namespace stagewright::bodies {

namespace {
/// An angle: `turns` quarter turns, of which only the last two bits matter,
/// plus `rest` radians, at most about pi / 4 in magnitude.
struct Angle {
  Value rest, turns;
};
} // namespace

/// Correct for fewer than 2^16 quarter turns: then subtracting n times the
/// first part is exact.
static Angle reduceSmall(Lanes &l, Value x) {
  Value rounder = l.number(kRounder);
  Value sum = l.fma(x, l.number(0x1.45f306p-1f), rounder);
  Value n = l.sub(sum, rounder);
  Value rest = l.fma(n, l.number(-0x1.921fb4p0f), x);
  rest = l.fma(n, l.number(-0x1.4442dp-24f), rest);
  return {l.fma(n, l.number(-0x1.846988p-48f), rest), l.bits(sum)};
}

/// 96 bits of 2 / pi in three words of 32 bits. The first bit is the one whose
/// product with the last mantissa bit of an f32 of this exponent is 2 quarter
/// turns: bits before it only add whole turns.
static SmallVector<Value> bitsOfInversePi(Lanes &l, Value exponent) {
  // The bits of 2 / pi, after 32 zeros for those before the binary point.
  constexpr uint32_t kDigits[] = {0,          0xa2f9836e, 0x4e441529,
                                  0xfc2757d1, 0xf534ddc0, 0xdb629599,
                                  0x3c439041, 0xfe5163ab};
  Value first = l.subBits(exponent, l.integer(120));
  Value word = l.shiftRight(first, 5);
  Value shift = l.widen(l.andBits(first, l.integer(31)));
  SmallVector<Value> digits;
  for (int i = 0; i < 4; ++i) {
    Value chosen = l.wide(kDigits[i]);
    for (int k = 1; k < 5; ++k)
      chosen = l.select(l.equalBits(word, l.integer(k)), l.wide(kDigits[i + k]),
                        chosen);
    digits.push_back(chosen);
  }
  SmallVector<Value> words;
  for (int i = 0; i < 3; ++i) {
    Value two = l.orBits(l.shiftLeft(digits[i], l.wide(32)), digits[i + 1]);
    words.push_back(l.shiftRightUnsigned(l.shiftLeft(two, shift), l.wide(32)));
  }
  return words;
}

/// Correct for |x| >= 2^-7; NaN for infinities.
static Angle reduceLarge(Lanes &l, Value x) {
  Value bits = l.bits(l.abs(x));
  Value mantissa = l.widen(
      l.orBits(l.andBits(bits, l.integer(0x7fffff)), l.integer(0x800000)));
  SmallVector<Value> words = bitsOfInversePi(l, l.shiftRight(bits, 23));
  // Quarter turns modulo 4, in units of 2^-62.
  Value quarters = l.shiftLeft(l.mulBits(mantissa, words[0]), l.wide(32));
  quarters = l.addBits(quarters, l.mulBits(mantissa, words[1]));
  quarters =
      l.addBits(quarters, l.shiftRightUnsigned(l.mulBits(mantissa, words[2]),
                                               l.wide(32)));
  Value turns = l.shiftRightUnsigned(
      l.addBits(quarters, l.wide(int64_t(1) << 61)), l.wide(62));
  Value rest = l.subBits(quarters, l.shiftLeft(turns, l.wide(62)));
  // The first 24 bits, rounded, are exact as a float; the others nearly.
  Value first =
      l.shiftRight(l.addBits(rest, l.wide(int64_t(1) << 37)), l.wide(38));
  Value second =
      l.shiftRight(l.subBits(rest, l.shiftLeft(first, l.wide(38))), l.wide(7));
  Value high = l.mul(l.toFloat(l.narrow(first)), l.number(0x1p-24f));
  Value low = l.mul(l.toFloat(l.narrow(second)), l.number(0x1p-55f));
  Value halfPi = l.number(0x1.921fb6p0f);
  Value angle = l.fma(low, halfPi, l.mul(high, l.number(-0x1.777a5cp-25f)));
  angle = l.fma(high, halfPi, angle);

  Value negative = l.less(x, l.number(0));
  Value whole = l.narrow(turns);
  return {l.add(l.select(negative, l.neg(angle), angle), l.sub(x, x)),
          l.select(negative, l.subBits(l.integer(0), whole), whole)};
}

/// The sine of x plus `shift` quarter turns.
static Value sineOf(Lanes &l, Value x, int shift) {
  Angle small = reduceSmall(l, x);
  Value large = l.less(l.number(0x1p16f), l.abs(x));
  SmallVector<Value> angle =
      l.replaceWhere(large, {small.rest, small.turns}, [&] {
        Angle reduced = reduceLarge(l, x);
        return SmallVector<Value>{reduced.rest, reduced.turns};
      });
  Value r = angle[0], turns = l.addBits(angle[1], l.integer(shift));
  Value square = l.mul(r, r);
  Value odd = l.horner(square, {0x1.77e0fap-19f, -0x1.a04864p-13f,
                                0x1.111164p-7f, -0x1.555556p-3f});
  Value sine = l.fma(l.mul(odd, square), r, r);
  Value cosine = l.horner(
      square, {0x1.99e90ap-16f, -0x1.6c0c2ap-10f, 0x1.55554ap-5f, -0.5f, 1});
  Value isSine = l.equalBits(l.andBits(turns, l.integer(1)), l.integer(0));
  Value sign = l.shiftLeft(l.andBits(turns, l.integer(2)), 30);
  return l.fromBits(l.xorBits(l.bits(l.select(isSine, sine, cosine)), sign));
}

// A zero is returned as it is, with its sign.
Value expandSin(Lanes &l, Value x) {
  return l.select(l.equal(x, l.number(0)), x, sineOf(l, x, 0));
}

Value expandCos(Lanes &l, Value x) { return sineOf(l, x, 1); }

} // namespace stagewright::bodies
