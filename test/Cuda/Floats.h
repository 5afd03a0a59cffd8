//===- Floats.h - 16-bit and 8-bit floats -----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_FLOATS_H
#define STAGEWRIGHT_TEST_CUDA_FLOATS_H

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace emulator {

using Half = _Float16;

/// Conversions round to nearest, ties to even, as on the device.
struct Bfloat16 {
  uint16_t bits = 0;

  Bfloat16() = default;
  explicit Bfloat16(float value) {
    auto wide = std::bit_cast<uint32_t>(value);
    if (std::isnan(value))
      bits = 0x7fff; // The NaN that cvt.rn.bf16.f32 gives.
    else
      bits = uint16_t((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

/// A float of 8 bits (E4M3: no infinities, one NaN; E5M2: infinities and NaNs
/// as in IEEE 754).
template <int exponent, int mantissa> struct Float8 {
  static constexpr bool finite = exponent == 4;
  static constexpr int bias = (1 << (exponent - 1)) - 1;
  /// The largest finite value: 448 (E4M3) or 57344 (E5M2).
  static constexpr float largest = finite ? 448.f : 57344.f;
  uint8_t bits = 0;

  Float8() = default;
  /// On overflow: the largest finite value (satfinite), or infinity.
  explicit Float8(float value, bool saturates = true) {
    uint8_t sign = std::signbit(value) ? 0x80 : 0;
    float magnitude = std::fabs(value);
    if (std::isnan(value)) {
      bits = uint8_t(0x7f | (finite ? sign : 0));
      return;
    }
    int power = 0;
    std::frexp(magnitude, &power);
    int step = std::max(power - 1, 1 - bias) - mantissa;
    float rounded =
        std::ldexp(std::nearbyint(std::ldexp(magnitude, -step)), step);
    if (rounded > largest) {
      uint8_t over = finite ? 0x7f : 0x7c;
      bits = sign | (saturates ? uint8_t(finite ? 0x7e : 0x7b) : over);
      return;
    }
    uint8_t code = 0;
    if (rounded > 0) {
      std::frexp(rounded, &power);
      int field = std::max(power - 1, 1 - bias);
      int steps = int(std::ldexp(rounded, mantissa - field));
      bool normal = steps >> mantissa;
      code = uint8_t(((normal ? field + bias : 0) << mantissa) |
                     (steps & ((1 << mantissa) - 1)));
    }
    bits = sign | code;
  }
  operator float() const {
    int field = bits >> mantissa & ((1 << exponent) - 1);
    int rest = bits & ((1 << mantissa) - 1);
    float sign = bits & 0x80 ? -1.f : 1.f;
    if (finite ? (bits & 0x7f) == 0x7f : field == (1 << exponent) - 1)
      return finite || rest ? NAN : sign * INFINITY;
    float size = field ? float((1 << mantissa) + rest) : float(rest);
    return sign * std::ldexp(size, std::max(field, 1) - bias - mantissa);
  }
};
using E4M3 = Float8<4, 3>;
using E5M2 = Float8<5, 2>;

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_FLOATS_H
