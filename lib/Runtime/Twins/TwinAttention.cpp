//===- TwinAttention.cpp - attention of a device's library, on the host ---===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain loops over queries, keys and widths, a row of scores at a time. The
// library rounds weights and gradients of scores to its type before it
// multiplies them with a matrix; here they stay as they are.
//
//===----------------------------------------------------------------------===//

#include "Twins/TwinElements.h"
#include "Twins/Twins.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace stagewright::runtime {

namespace {

/// One head of one operand: rows of positions.
struct Rows {
  const void *data;
  int32_t dtype;
  int64_t start, position, width;

  Rows(const void *data, int32_t dtype, const int64_t (&strides)[4], int64_t b,
       int64_t h)
      : data(data), dtype(dtype), start(b * strides[0] + h * strides[1]),
        position(strides[2]), width(strides[3]) {}

  int64_t at(int64_t i, int64_t d) const {
    return start + i * position + d * width;
  }
  double operator()(int64_t i, int64_t d) const {
    return readElement(data, dtype, at(i, d));
  }
};

double product(const Rows &a, int64_t i, const Rows &b, int64_t j,
               int64_t width) {
  double sum = 0;
  for (int64_t d = 0; d < width; ++d)
    sum += a(i, d) * b(j, d);
  return sum;
}

int64_t keysOf(const sw_attention_desc &desc, int64_t query) {
  return desc.causal ? std::min(desc.keys, query + 1) : desc.keys;
}

void forEachHead(const sw_attention_desc &desc,
                 const std::function<void(int64_t, int64_t, int64_t)> &run) {
  for (int64_t b = 0; b < desc.batch; ++b)
    for (int64_t h = 0; h < desc.heads; ++h)
      run(b, h, h / (desc.heads / desc.key_heads));
}

} // namespace

void attendOnHost(const sw_attention_desc &desc, const void *q, const void *k,
                  const void *v, void *o, float *stats) {
  std::vector<double> weights(size_t(desc.keys));
  forEachHead(desc, [&](int64_t b, int64_t h, int64_t g) {
    Rows query(q, desc.dtype, desc.q, b, h), key(k, desc.dtype, desc.k, b, g),
        value(v, desc.dtype, desc.v, b, g), output(o, desc.dtype, desc.o, b, h);
    for (int64_t i = 0; i < desc.queries; ++i) {
      int64_t keys = keysOf(desc, i);
      double top = -INFINITY, total = 0;
      for (int64_t j = 0; j < keys; ++j) {
        weights[size_t(j)] = desc.scale * product(query, i, key, j, desc.width);
        top = std::max(top, weights[size_t(j)]);
      }
      for (int64_t j = 0; j < keys; ++j)
        total += weights[size_t(j)] = std::exp(weights[size_t(j)] - top);
      for (int64_t e = 0; e < desc.value_width; ++e) {
        double sum = 0;
        for (int64_t j = 0; j < keys; ++j)
          sum += weights[size_t(j)] * value(j, e);
        writeElement(o, desc.dtype, output.at(i, e), sum / total);
      }
      if (stats)
        stats[(b * desc.heads + h) * desc.queries + i] =
            float(top + std::log(total));
    }
  });
}

void attendGradientOnHost(const sw_attention_desc &desc, const void *q,
                          const void *k, const void *v, const void *o,
                          const float *stats, const void *dO, void *dQ,
                          void *dK, void *dV) {
  // Sums over the heads that share keys.
  int64_t rows = desc.batch * desc.key_heads * desc.keys;
  std::vector<double> keySums(size_t(rows * desc.width)),
      valueSums(size_t(rows * desc.value_width));
  forEachHead(desc, [&](int64_t b, int64_t h, int64_t g) {
    Rows query(q, desc.dtype, desc.q, b, h), key(k, desc.dtype, desc.k, b, g),
        value(v, desc.dtype, desc.v, b, g), output(o, desc.dtype, desc.o, b, h),
        dOutput(dO, desc.dtype, desc.d_o, b, h),
        dQuery(dQ, desc.dtype, desc.d_q, b, h);
    double *dKey =
        &keySums[size_t((b * desc.key_heads + g) * desc.keys * desc.width)];
    double *dValue = &valueSums[size_t((b * desc.key_heads + g) * desc.keys *
                                       desc.value_width)];
    for (int64_t i = 0; i < desc.queries; ++i) {
      double row = stats[(b * desc.heads + h) * desc.queries + i];
      double delta = product(output, i, dOutput, i, desc.value_width);
      std::vector<double> sums(size_t(desc.width));
      for (int64_t j = 0; j < keysOf(desc, i); ++j) {
        double weight =
            std::exp(desc.scale * product(query, i, key, j, desc.width) - row);
        double score =
            desc.scale * weight *
            (product(dOutput, i, value, j, desc.value_width) - delta);
        for (int64_t d = 0; d < desc.width; ++d) {
          sums[size_t(d)] += score * key(j, d);
          dKey[j * desc.width + d] += score * query(i, d);
        }
        for (int64_t e = 0; e < desc.value_width; ++e)
          dValue[j * desc.value_width + e] += weight * dOutput(i, e);
      }
      for (int64_t d = 0; d < desc.width; ++d)
        writeElement(dQ, desc.dtype, dQuery.at(i, d), sums[size_t(d)]);
    }
  });
  for (int64_t b = 0; b < desc.batch; ++b)
    for (int64_t g = 0; g < desc.key_heads; ++g) {
      Rows dKey(dK, desc.dtype, desc.d_k, b, g),
          dValue(dV, desc.dtype, desc.d_v, b, g);
      for (int64_t j = 0; j < desc.keys; ++j) {
        int64_t row = (b * desc.key_heads + g) * desc.keys + j;
        for (int64_t d = 0; d < desc.width; ++d)
          writeElement(dK, desc.dtype, dKey.at(j, d),
                       keySums[size_t(row * desc.width + d)]);
        for (int64_t e = 0; e < desc.value_width; ++e)
          writeElement(dV, desc.dtype, dValue.at(j, e),
                       valueSums[size_t(row * desc.value_width + e)]);
      }
    }
}

} // namespace stagewright::runtime
