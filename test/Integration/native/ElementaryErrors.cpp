//===- ElementaryErrors.cpp - errors of elementary functions --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Called by test_elementary.py: errors of f32 results relative to the C library
// in double precision, whose own error is a few of its units in the last place,
// each 2^-29 of one measured here. Fast enough for all 2^32 values of f32.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double limit = 0x1p128; ///< The first power of two that overflows.

/// The error in units in the last place of `exact`. Infinite if only one of the
/// two is NaN, or if both round to zeros of different sign. Infinity is 2^128.
double errorOf(float got, double exact) {
  if (std::isnan(got) || std::isnan(exact))
    return std::isnan(got) && std::isnan(exact) ? 0 : infinity;
  auto rounded = static_cast<float>(exact);
  if (got == 0 && rounded == 0 && std::signbit(got) != std::signbit(rounded))
    return infinity;
  exact = std::clamp(exact, -limit, limit);
  // A unit is 2^-23 of the power of two below `exact`, with an exponent clamped
  // to the range of normal numbers.
  auto exponent = std::bit_cast<uint64_t>(exact) >> 52 & 2047;
  exponent = std::clamp<uint64_t>(exponent, 1023 - 126, 1023 + 127);
  auto inverse = std::bit_cast<double>((2 * 1023 + 23 - exponent) << 52);
  return std::abs(std::clamp<double>(got, -limit, limit) - exact) * inverse;
}

using Function = double (*)(double);
constexpr Function functions[] = {std::exp,   std::exp2, std::expm1, std::log,
                                  std::log1p, std::tanh, std::erf,   std::erfc,
                                  std::sin,   std::cos};

} // namespace

/// For each of `count` implementations of function `number`: its largest error
/// over `size` arguments `x` into `errors`, and that argument into `at`.
extern "C" __attribute__((visibility("default"))) void
worst_errors(int number, const float *x, int64_t size,
             const float *const *results, int count, double *errors,
             float *at) {
  Function function = functions[number];
  std::fill_n(errors, count, -1.0);
  for (int64_t i = 0; i < size; ++i) {
    double exact = function(x[i]);
    for (int k = 0; k < count; ++k)
      if (double error = errorOf(results[k][i], exact); error > errors[k])
        errors[k] = error, at[k] = x[i];
  }
}
