//===- ErrorFunctions.cpp - erf and erfc as arithmetic --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Exponent.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::bodies {

/// erf(x) for |x| up to 13/16, by an odd polynomial.
static Value erfNearZero(Lanes &l, Value x) {
  Value q =
      l.horner(l.mul(x, x), {-0x1.5503f4p-11f, 0x1.4d03acp-8f, -0x1.b7695ap-6f,
                             0x1.ce27fep-4f, -0x1.81273p-2f, 0x1.06eba8p-3f});
  return l.fma(q, x, x);
}

// For |x| >= 13/16, erf(x) is 1 - 2^p(|x|) with the sign of x. The smaller the
// power, the larger the error that p may have. The result is 1 from 3.9201 on.
Value expandErf(Lanes &l, Value x) {
  Value a = l.atMost(l.abs(x), 4);
  Value p = l.horner(a, {0x1.3808e2p-12f, -0x1.291ec4p-8f, 0x1.0b4492p-5f,
                         -0x1.35665cp-3f, -0x1.d6043ap-1f, -0x1.a0abb2p0f,
                         -0x1.d1aa42p-14f});
  auto [n, power] = nearest(l, p, 1);
  Value e =
      l.horner(l.sub(p, n), {0x1.5bffa6p-10f, 0x1.3ceca2p-7f, 0x1.c6b69ap-5f,
                             0x1.ebf9b6p-3f, 0x1.62e42ap-1f, 1});
  Value far = l.fma(l.neg(e), power, l.number(1));
  return l.select(l.less(a, l.number(0.8125f)), erfNearZero(l, x),
                  l.copySign(far, x));
}

namespace {
/// A number as an unevaluated sum; `low` is less than the last place of `high`.
struct Pair {
  Value high, low;
};
} // namespace

/// e^(a^2) erfc(a), multiplied by a for a >= 7/4. A polynomial in a - 1 for a <
/// 7/4, and in 1 / a otherwise, both of the same degree.
static Pair scaledErfc(Lanes &l, Value a, Value inverse, Value below) {
  constexpr float kBelow[] = {
      -0x1.2bc93cp-12f, 0x1.246d1cp-10f, -0x1.74c4e6p-9f, 0x1.c8694p-8f,
      -0x1.10b542p-6f,  0x1.33c93ap-5f,  -0x1.4484f6p-4f, 0x1.3c2734p-3f,
      -0x1.17c4e2p-2f,  0x1.b5d878p-2f};
  constexpr float kAbove[] = {0x1.2559ap-1f,   -0x1.d3bdc2p0f,  0x1.256182p1f,
                              -0x1.2a06b2p0f,  -0x1.be883ep-3f, 0x1.05f8c2p-1f,
                              -0x1.1b121cp-6f, -0x1.1eebb6p-2f, -0x1.d6b7dp-14f,
                              0x1.20ddd2p-1f};
  SmallVector<Value> c;
  for (auto [left, right] : llvm::zip_equal(kBelow, kAbove))
    c.push_back(l.select(below, l.number(left), l.number(right)));
  Value v = l.select(below, l.sub(a, l.number(1)), inverse);
  Value last = c.pop_back_val(), q = l.horner(v, c);
  Value p = l.fma(q, v, last);
  return {p, l.fma(q, v, l.sub(last, p))};
}

/// e^r - 1 for |r| <= ln 2 / 2.
static Value expM1NearZero(Lanes &l, Value r) {
  Value q = l.horner(r, {0x1.6b7338p-10f, 0x1.12278ep-7f, 0x1.555716p-5f,
                         0x1.5554bp-3f, 0x1.fffffep-2f});
  return l.fma(l.mul(r, r), q, r);
}

// For |x| < 15/32, erfc(x) is computed as 1 - erf(x). For larger x it falls
// like e^(-x^2) / x down to the subnormal numbers and must be accurate to the
// last places there. So x^2 is taken in two parts for e^(-x^2), the polynomial
// and the product are kept in two parts, and the quotient is corrected by its
// remainder. The power of two is multiplied last, in two steps, of which only
// the second can give subnormal numbers.
Value expandErfc(Lanes &l, Value x) {
  Value a = l.atMost(l.abs(x), 10.25f), one = l.number(1);
  Value square = l.mul(a, a), rest = l.fma(a, a, l.neg(square));
  auto [n, power] = nearest(l, square, -kLog2E, /*bias=*/64);
  Value r = l.fma(n, l.number(-kLn2High), l.neg(square));
  r = l.add(r, l.fma(n, l.number(-kLn2Low), l.neg(rest)));

  Value below = l.less(a, l.number(1.75f));
  Value divisor = l.select(below, one, a);
  Value inverse = l.div(one, divisor);
  Pair p = scaledErfc(l, a, inverse, below);
  Value more = l.fma(p.high, expM1NearZero(l, r), p.low);
  Value y = l.add(p.high, more), yLow = l.add(l.sub(p.high, y), more);
  Value quotient = l.mul(y, inverse);
  Value remains = l.add(l.fma(l.neg(quotient), divisor, y), yLow);
  Value e = l.fma(remains, inverse, quotient);
  Value far = l.mul(l.mul(e, power), l.number(0x1p-64f));

  far = l.select(l.less(x, l.number(0)), l.sub(l.number(2), far), far);
  Value near = l.sub(one, erfNearZero(l, x));
  return l.select(l.less(a, l.number(0.46875f)), near, far);
}

} // namespace stagewright::bodies
