//===- TwinContraction.cpp - contractions of a device, on the host --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Error.h"
#include "Twins/TwinElements.h"
#include "Twins/Twins.h"

#include <cmath>

namespace stagewright::runtime {

namespace {

/// Of GELU by tanh: the tanh at `x`, and the derivative of its argument.
struct GeluTanh {
  double value, slope;
  explicit GeluTanh(double x) {
    const double outer = std::sqrt(2 / std::acos(-1.0));
    constexpr double cubic = 0.044715;
    value = std::tanh(outer * (x + cubic * x * x * x));
    slope = outer * (1 + 3 * cubic * x * x);
  }
};

double gelu(double x) { return 0.5 * x * (1 + GeluTanh(x).value); }

double geluDerivative(double x) {
  GeluTanh t(x);
  return 0.5 * (1 + t.value) + 0.5 * x * (1 - t.value * t.value) * t.slope;
}

/// What the epilogue makes of the sum for C[i,j].
double finish(const sw_contraction_desc &desc, double sum, int64_t i, int64_t j,
              const void *bias, void *aux) {
  auto row = [&] { return readElement(bias, desc.bias_dtype, j); };
  int64_t at = i * desc.aux_row + j;
  auto keep = [&](double value) {
    writeElement(aux, desc.aux_dtype, at, value);
    return gelu(value);
  };
  switch (desc.epilogue) {
  case SW_EPILOGUE_NONE:
    return sum;
  case SW_EPILOGUE_BIAS:
    return sum + row();
  case SW_EPILOGUE_GELU:
    return gelu(sum);
  case SW_EPILOGUE_BIAS_GELU:
    return gelu(sum + row());
  case SW_EPILOGUE_GELU_AUX:
    return keep(sum);
  case SW_EPILOGUE_BIAS_GELU_AUX:
    return keep(sum + row());
  case SW_EPILOGUE_DGELU:
    return sum * geluDerivative(readElement(aux, desc.aux_dtype, at));
  default:
    raise("the host has no epilogue ", desc.epilogue);
  }
}

/// A factor as the device reads it: TF32 has 10 bits of fraction.
double readFactor(const sw_contraction_desc &desc, const void *from,
                  int32_t dtype, int64_t index) {
  double value = readElement(from, dtype, index);
  if (!desc.tf32 || !std::isfinite(value))
    return value;
  int exponent;
  double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 11)), exponent - 11);
}

} // namespace

void finishOnHost(const sw_contraction_desc &desc, void *c, const void *bias,
                  void *aux) {
  const sw_gemm_desc &g = desc.gemm;
  if (desc.epilogue == SW_EPILOGUE_NONE)
    return;
  if (g.batch[0] * g.batch[1] != 1)
    raise("the host has no epilogue for batches");
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j) {
      int64_t at = i * g.c_row + j * g.c_col;
      writeElement(c, g.dtype, at,
                   finish(desc, readElement(c, g.dtype, at), i, j, bias, aux));
    }
}

void contractOnHost(const sw_contraction_desc &desc, const void *a,
                    const void *b, void *c, const void *bias, void *aux) {
  const sw_gemm_desc &g = desc.gemm;
  if (desc.epilogue != SW_EPILOGUE_NONE && g.batch[0] * g.batch[1] != 1)
    raise("the host has no epilogue for batches");
  for (int64_t outer = 0; outer < g.batch[0]; ++outer)
    for (int64_t inner = 0; inner < g.batch[1]; ++inner) {
      int64_t fromA = outer * g.a_batch[0] + inner * g.a_batch[1];
      int64_t fromB = outer * g.b_batch[0] + inner * g.b_batch[1];
      int64_t fromC = outer * g.c_batch[0] + inner * g.c_batch[1];
      for (int64_t i = 0; i < g.m; ++i)
        for (int64_t j = 0; j < g.n; ++j) {
          int64_t at = fromC + i * g.c_row + j * g.c_col;
          double sum = g.beta ? readElement(c, g.dtype, at) : 0;
          for (int64_t k = 0; k < g.k; ++k)
            sum += readFactor(desc, a, desc.a_dtype,
                              fromA + i * g.a_row + k * g.a_col) *
                   readFactor(desc, b, desc.b_dtype,
                              fromB + k * g.b_row + j * g.b_col);
          writeElement(c, g.dtype, at, finish(desc, sum, i, j, bias, aux));
        }
    }
}

} // namespace stagewright::runtime
