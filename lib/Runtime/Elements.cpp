//===- Elements.cpp - reads and writes single floats ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elements.h"

#include "DType.h"
#include "stagewright/Runtime/Error.h"

#include <cmath>
#include <cstring>

namespace stagewright::runtime {

namespace {

float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31,
           fraction = bits & 0x3ff;
  if (exponent == 0) // zero or subnormal: the fraction in units of 2^-24
    return std::ldexp(float(fraction), -24) * (sign ? -1.0f : 1.0f);
  uint32_t wide =
      sign | (exponent == 31 ? 0xffu : exponent + 112) << 23 | fraction << 13;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

uint16_t floatToHalf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  if (std::isnan(value))
    return sign | 0x7e00;
  float size = std::fabs(value);
  if (size >= 65520.0f)
    return sign | 0x7c00;
  // The exponent of the last place of a half of this size.
  int exponent;
  std::frexp(size, &exponent);
  int unit = std::max(exponent - 11, -24);
  auto steps = uint32_t(std::nearbyint(std::ldexp(size, -unit)));
  // `steps` of a normal number includes the leading bit.
  uint32_t base = unit == -24 ? 0 : uint32_t(unit + 24) << 10;
  return sign | uint16_t(base + steps);
}

/// An 8-bit float with `fraction` bits of fraction. Source: OCP 8-bit floating
/// point specification (OFP8), revision 1.0, table 1.
struct Float8 {
  int fraction, bias;
  bool infinite; ///< the largest exponent encodes infinities and NaNs

  double read(uint8_t bits) const {
    int exponent = (bits & 0x7f) >> fraction, ones = (1 << fraction) - 1,
        digits = bits & ones;
    double sign = bits & 0x80 ? -1 : 1;
    int maxExponent = (1 << (7 - fraction)) - 1;
    if (infinite && exponent == maxExponent)
      return digits ? std::nan("") : sign * HUGE_VAL;
    if (!infinite && exponent == maxExponent && digits == ones)
      return std::nan("");
    if (exponent == 0)
      return sign * std::ldexp(digits, 1 - bias - fraction);
    return sign *
           std::ldexp(digits + (1 << fraction), exponent - bias - fraction);
  }
};
constexpr Float8 e4m3 = {3, 7, false}, e5m2 = {2, 15, true};

} // namespace

double readElement(const void *from, int32_t dtype, int64_t index) {
  switch (dtype) {
  case SW_F64:
    return static_cast<const double *>(from)[index];
  case SW_F32:
    return static_cast<const float *>(from)[index];
  case SW_F16:
    return halfToFloat(static_cast<const uint16_t *>(from)[index]);
  case SW_BF16: {
    uint32_t bits = uint32_t(static_cast<const uint16_t *>(from)[index]) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  case SW_F8E4M3FN:
    return e4m3.read(static_cast<const uint8_t *>(from)[index]);
  case SW_F8E5M2:
    return e5m2.read(static_cast<const uint8_t *>(from)[index]);
  default:
    raise("the host does not read elements of type ", dtypeName(dtype));
  }
}

void writeElement(void *to, int32_t dtype, int64_t index, double value) {
  switch (dtype) {
  case SW_F64:
    static_cast<double *>(to)[index] = value;
    return;
  case SW_F32:
    static_cast<float *>(to)[index] = float(value);
    return;
  case SW_F16:
    static_cast<uint16_t *>(to)[index] = floatToHalf(float(value));
    return;
  case SW_BF16: {
    auto narrow = float(value);
    uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof(bits));
    // Round to nearest, ties to even; a NaN stays a NaN.
    bits =
        std::isnan(narrow) ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1);
    static_cast<uint16_t *>(to)[index] = uint16_t(bits >> 16);
    return;
  }
  default:
    raise("the host does not write elements of type ", dtypeName(dtype));
  }
}

} // namespace stagewright::runtime
