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
#include <ranges>

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
  static constexpr bool isFinite = exponent == 4;
  uint8_t bits = 0;

  Float8() = default;
  /// Saturates: values above the largest number (448 or 57344) become it.
  explicit Float8(float value) {
    // The code after a positive number's is that of the next larger number.
    std::ranges::iota_view codes(0, isFinite ? 0x7e : 0x7b);
    auto nearest = std::ranges::partition_point(codes, [&](int code) {
      float middle = (valueOf(code) + valueOf(code + 1)) / 2;
      float size = std::fabs(value);
      return size > middle || (size == middle && code % 2 == 1);
    });
    bits = std::isnan(value) ? 0x7f : uint8_t(nearest - codes.begin());
    bits |= std::signbit(value) && !std::isnan(value) ? 0x80 : 0;
  }
  operator float() const {
    return std::copysign(valueOf(bits & 0x7f), bits & 0x80 ? -1.f : 1.f);
  }

private:
  /// The float16 with the same fields, whose exponent has 5 bits.
  static float valueOf(int code) {
    auto half = std::bit_cast<Half>(uint16_t(code << (10 - mantissa)));
    return isFinite && code == 0x7f ? NAN : float(half) * (isFinite ? 256 : 1);
  }
};
using E4M3 = Float8<4, 3>;
using E5M2 = Float8<5, 2>;

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_FLOATS_H
