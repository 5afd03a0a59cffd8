//===- Elementary.cpp - elementary functions in arithmetic ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranges are reduced by rounding to a whole number with an addition: 1.5 * 2^23
// plus a small number has that number, rounded, in its last bits, from where a
// shift makes it an exponent (Muller et al., Handbook of Floating-Point
// Arithmetic, 2nd edition, 10.2). Polynomials are minimax in f32 coefficients
// (Brisebarre and Chevillard, Efficient polynomial L-infinity approximations,
// 2007). Horner's form has fewest operations, and loops have enough independent
// elements to hide its latency.
//
//===----------------------------------------------------------------------===//

#include "Elementary.h"

#include <cmath>

using namespace mlir;

namespace stagewright::host {

/// 1.5 * 2^23: adding it rounds to a whole number.
constexpr float kRounder = 12582912.0f;
/// ln 2 in two parts: multiples of the first up to 2^9 are exact.
constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;
constexpr float kLn2 = 0x1.62e43p-1f, kLog2E = 0x1.715476p0f;

namespace {
/// A whole number n, as it is and as 2^(n + bias) with the bias of the rounder.
struct Power {
  Value whole, power;
};
} // namespace

/// Splits x * scale into its nearest whole number and what remains for the
/// caller; 2^(n + bias) must be normal.
static Power nearest(Lanes &l, Value x, float scale, int bias = 0) {
  Value rounder = l.number(kRounder + 127 + bias);
  Value sum =
      scale == 1 ? l.add(x, rounder) : l.fma(x, l.number(scale), rounder);
  return {l.sub(sum, rounder), l.fromBits(l.shiftLeft(l.bits(sum), 23))};
}

/// e^r for |r| <= ln 2, times power^2. Two multiplications, so that results
/// may leave the normal numbers on either side and are rounded right there.
static Value finishExp(Lanes &l, Value r, Value power) {
  Value p = l.horner(r, {0x1.9bad8ap-13f, 0x1.71c426p-10f, 0x1.112728p-7f,
                         0x1.5549dep-5f, 0x1.555512p-3f, 0x1.00000cp-1f, 1, 1});
  return l.mul(l.mul(p, power), power);
}

// The remainder is taken modulo 2 ln 2, one degree more than modulo ln 2: then
// n / 2 is what is rounded, and no exponent has to be split in two.
Value expandExp(Lanes &l, Value x) {
  x = l.atMost(l.atLeast(x, -110), 100);
  auto [half, power] = nearest(l, x, kLog2E / 2);
  Value r = l.fma(half, l.number(-2 * kLn2High), x);
  return finishExp(l, l.fma(half, l.number(-2 * kLn2Low), r), power);
}

Value expandExp2(Lanes &l, Value x) {
  x = l.atMost(l.atLeast(x, -152), 130);
  auto [half, power] = nearest(l, x, 0.5f);
  Value r = l.fma(half, l.number(-2), x);
  return finishExp(l, l.mul(r, l.number(kLn2)), power);
}

// e^x - 1 = 2 (2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)): exact differences, and no
// overflow before the last addition. The sign is that of x, also for -0.
Value expandExpM1(Lanes &l, Value x) {
  x = l.atMost(l.atLeast(x, -18), 89);
  auto [n, power] = nearest(l, x, kLog2E, /*bias=*/-1);
  Value r = l.fma(n, l.number(-kLn2High), x);
  r = l.fma(n, l.number(-kLn2Low), r);
  Value q = l.horner(r, {0x1.9e0c6cp-13f, 0x1.6d437ep-10f, 0x1.111306p-7f,
                         0x1.5554fp-5f, 0x1.555554p-3f, 0.5f});
  Value p = l.fma(l.mul(r, r), q, r);
  Value half = l.fma(p, power, l.sub(power, l.number(0.5f)));
  return l.copySign(l.add(half, half), x);
}

// With y = -|x| and h = (1 - e^2y) / 2, tanh |x| = h / (1 - h). The other sign
// would be as short, but rounds 1 + h where its last place is coarsest, and so
// does 1 - h from the rounded h.
Value expandTanh(Lanes &l, Value x) {
  Value y = l.atLeast(l.neg(l.abs(x)), -9.5f);
  auto [n, power] = nearest(l, y, 2 * kLog2E);
  Value r = l.fma(n, l.number(-kLn2 / 2), y);
  Value q = l.horner(r, {0x1.6b7158p-5f, 0x1.1227acp-3f, 0x1.555718p-2f,
                         0x1.5554bp-1f, 0x1.fffffep-1f});
  Value p = l.fma(l.mul(r, r), q, r);
  Value half = l.number(0.5f);
  Value above = l.fma(power, l.number(-0.5f), half);
  Value below = l.fma(power, half, half);
  Value h = l.fma(l.neg(p), power, above);
  return l.copySign(l.div(h, l.fma(p, power, below)), x);
}

// Below 13/16 an odd polynomial. Above 1 - 2^p(|x|), where p only has to be as
// exact as its power is large; the result is 1 from 3.84 on.
Value expandErf(Lanes &l, Value x) {
  Value a = l.atMost(l.abs(x), 4);
  Value q =
      l.horner(l.mul(x, x), {-0x1.5503f4p-11f, 0x1.4d03acp-8f, -0x1.b7695ap-6f,
                             0x1.ce27fep-4f, -0x1.81273p-2f, 0x1.06eba8p-3f});
  Value near = l.fma(q, x, x);
  Value p = l.horner(a, {0x1.3808e2p-12f, -0x1.291ec4p-8f, 0x1.0b4492p-5f,
                         -0x1.35665cp-3f, -0x1.d6043ap-1f, -0x1.a0abb2p0f,
                         -0x1.d1aa42p-14f});
  auto [n, power] = nearest(l, p, 1);
  Value e =
      l.horner(l.sub(p, n), {0x1.5bffa6p-10f, 0x1.3ceca2p-7f, 0x1.c6b69ap-5f,
                             0x1.ebf9b6p-3f, 0x1.62e42ap-1f, 1});
  Value far = l.fma(l.neg(e), power, l.number(1));
  return l.select(l.less(a, l.number(0.8125f)), near, l.copySign(far, x));
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

/// The bits of sqrt(1/2): m is taken between it and its double.
constexpr int32_t kSqrtHalf = 0x3f3504f3;

namespace {
/// x = m * 2^n with m from sqrt(1/2) to sqrt(2).
struct Split {
  Value m, n;
};
} // namespace

static Split splitExponent(Lanes &l, Value x) {
  Value i = l.subBits(l.bits(x), l.integer(kSqrtHalf));
  Value m = l.addBits(l.andBits(i, l.integer(0x7fffff)), l.integer(kSqrtHalf));
  return {l.fromBits(m), l.shiftRight(i, 23)};
}

/// n ln 2 + log(1 + f).
static Value finishLog(Lanes &l, Value f, Value n) {
  Value q = l.horner(f, {-0x1.3851f2p-4f, 0x1.086e04p-3f, -0x1.0f4414p-3f,
                         0x1.226c9ep-3f, -0x1.542532p-3f, 0x1.99a422p-3f,
                         -0x1.000434p-2f, 0x1.55555p-2f, -0x1.fffff8p-2f});
  Value p = l.fma(l.mul(f, f), q, f);
  return l.fma(n, l.number(kLn2), p);
}

/// `y` where x is finite and above `pole`; there -inf, below NaN.
static Value specialLog(Lanes &l, Value x, float pole, Value y) {
  y = l.select(l.less(x, l.number(INFINITY)), y, x);
  y = l.select(l.less(x, l.number(pole)), l.number(NAN), y);
  return l.select(l.equal(x, l.number(pole)), l.number(-INFINITY), y);
}

Value expandLog(Lanes &l, Value x) {
  Value tiny = l.less(x, l.number(0x1p-126f));
  Value normal = l.select(tiny, l.mul(x, l.number(0x1p23f)), x);
  Value shift = l.select(tiny, l.number(-23), l.number(0));
  auto [m, n] = splitExponent(l, normal);
  Value y = finishLog(l, l.sub(m, l.number(1)), l.add(l.toFloat(n), shift));
  return specialLog(l, x, 0, y);
}

// What 1 + x loses is found by an exact sum (Knuth's TwoSum) and added to the
// argument of the polynomial, except from 2^24 on, where it does not count and
// 2^-n may be no normal number. The sign is that of x, also for -0.
Value expandLog1p(Lanes &l, Value x) {
  Value one = l.number(1);
  Value u = l.add(x, one);
  Value b = l.sub(u, one);
  Value lost = l.add(l.sub(one, l.sub(u, b)), l.sub(x, b));
  auto [m, n] = splitExponent(l, u);
  Value inverse =
      l.fromBits(l.subBits(l.integer(0x3f800000), l.shiftLeft(n, 23)));
  inverse = l.select(l.less(x, l.number(0x1p24f)), inverse, l.number(0));
  Value f = l.fma(lost, inverse, l.sub(m, one));
  return l.copySign(specialLog(l, x, -1, finishLog(l, f, l.toFloat(n))), x);
}

} // namespace stagewright::host
