//===- TwinContraction.cpp - contractions of a device, on the host --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Error.h"
#include "Twins.h"

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
  // Units of the last place that a half of this size has.
  int exponent;
  std::frexp(size, &exponent);
  int unit = std::max(exponent - 11, -24);
  auto steps = uint32_t(std::nearbyint(std::ldexp(size, -unit)));
  // The steps of a normal number include its leading bit.
  uint32_t base = unit == -24 ? 0 : uint32_t(unit + 24) << 10;
  return sign | uint16_t(base + steps);
}

double read(const void *from, int32_t dtype, int64_t index) {
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
  default:
    raise("a contraction of elements of type ", dtype);
  }
}

void write(void *to, int32_t dtype, int64_t index, double value) {
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
    // To nearest, ties to even; a NaN stays one.
    bits =
        std::isnan(narrow) ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1);
    static_cast<uint16_t *>(to)[index] = uint16_t(bits >> 16);
    return;
  }
  default:
    raise("a contraction to elements of type ", dtype);
  }
}

} // namespace

void contractOnHost(const sw_contraction_desc &desc, const void *a,
                    const void *b, void *c) {
  const sw_gemm_desc &g = desc.gemm;
  if (desc.epilogue != SW_EPILOGUE_NONE)
    raise("the host has no epilogue ", desc.epilogue);
  for (int64_t outer = 0; outer < g.batch[0]; ++outer)
    for (int64_t inner = 0; inner < g.batch[1]; ++inner) {
      int64_t fromA = outer * g.a_batch[0] + inner * g.a_batch[1];
      int64_t fromB = outer * g.b_batch[0] + inner * g.b_batch[1];
      int64_t fromC = outer * g.c_batch[0] + inner * g.c_batch[1];
      for (int64_t i = 0; i < g.m; ++i)
        for (int64_t j = 0; j < g.n; ++j) {
          int64_t at = fromC + i * g.c_row + j * g.c_col;
          double sum = g.beta ? read(c, g.dtype, at) : 0;
          for (int64_t k = 0; k < g.k; ++k)
            sum += read(a, desc.a_dtype, fromA + i * g.a_row + k * g.a_col) *
                   read(b, desc.b_dtype, fromB + k * g.b_row + j * g.b_col);
          write(c, g.dtype, at, sum);
        }
    }
}

} // namespace stagewright::runtime
