//===- Elementary.cpp - elementary functions in arithmetic ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Polynomials are minimax in f32 coefficients (Brisebarre and Chevillard,
// Efficient polynomial L-infinity approximations, 2007). Horner's form has the
// fewest operations, and loops have enough independent elements to hide its
// latency.
//
//===----------------------------------------------------------------------===//

#include "Exponent.h"
#include "stagewright/Dialect/LLVM.h"

#include <cmath>

namespace stagewright::bodies {

/// e^r for |r| <= ln 2, times power^2. It multiplies twice by `power`, so that
/// results that overflow or are subnormal are rounded correctly.
static Value finishExp(Lanes &l, Value r, Value power) {
  Value p = l.horner(r, {0x1.9bad8ap-13f, 0x1.71c426p-10f, 0x1.112728p-7f,
                         0x1.5549dep-5f, 0x1.555512p-3f, 0x1.00000cp-1f, 1, 1});
  return l.mul(l.mul(p, power), power);
}

// The remainder r is taken modulo 2 ln 2: e^x = e^r (2^half)^2, so no exponent
// has to be split in two. This takes one more degree of the polynomial than a
// remainder modulo ln 2.
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

// e^x - 1 = 2 (2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)), with a polynomial for
// e^r - 1. The difference 2^(n-1) - 1/2 is exact for |n| <= 24, and nothing
// overflows before the last addition. The sign is that of x, also for -0.
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

// With y = -|x| and h = (1 - e^2y) / 2, tanh |x| = h / (1 - h). With y = |x|
// the formula is as short, but for small |x| its divisor 1 + h is just above 1,
// where the last place is twice as large as just below 1, where 1 - h is. The
// rounding error of h would also add to that of 1 - h, so 1 - h is computed
// from e^2y (`below`).
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

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

/// The bits of sqrt(1/2), the min of m.
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

/// `y` if x is finite and above `pole`; -inf at the pole, NaN below it.
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

// The rounding error of 1 + x is computed exactly (Knuth's TwoSum) and added to
// the argument of the polynomial, except from 2^24 on, where it is negligible
// and 2^-n may not be normal. The sign is that of x, also for -0.
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

} // namespace stagewright::bodies
