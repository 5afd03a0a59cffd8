//===- Attention.cpp - attention by its definition ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graphs.h"

#include <optional>

namespace emulator {

namespace {

/// One query of one head, and the number of keys that it attends to.
struct Row {
  int64_t b, h, i, g, keys;
  std::vector<double> scores;
};

template <typename Function>
void forRows(const sw_attention_desc &it, const Addresses &at,
             Function function) {
  Element element = elementOfRuntime(it.dtype);
  Tensor<4> q(at[0], element, it.q), k(at[1], element, it.k);
  std::optional<Tensor<4>> bias;
  if (it.has_bias)
    bias.emplace(at[9], elementOfRuntime(it.bias_dtype), it.bias);
  for (int64_t b = 0; b < it.batch; ++b)
    for (int64_t h = 0; h < it.heads; ++h)
      for (int64_t i = 0; i < it.queries; ++i) {
        Row row = {b, h, i, h / (it.heads / it.key_heads), it.keys, {}};
        if (it.causal)
          row.keys = std::min(it.keys, i + 1);
        for (int64_t j = 0; j < row.keys; ++j) {
          double sum = 0;
          for (int64_t d = 0; d < it.width; ++d)
            sum += q({b, h, i, d}) * k({b, row.g, j, d});
          row.scores.push_back(sum * double(it.scale) +
                               (bias ? (*bias)({b, h, i, j}) : 0));
        }
        function(row);
      }
}

/// The log-sum-exp of the scores of each query, packed float32.
Tensor<3> statsOf(const sw_attention_desc &it, uint64_t address) {
  int64_t strides[3] = {it.heads * it.queries, it.queries, 1};
  return {address, Element::F32, strides};
}

} // namespace

void compute(const sw_attention_desc &it, const Addresses &at) {
  Element element = elementOfRuntime(it.dtype);
  Tensor<4> v(at[2], element, it.v), o(at[3], element, it.o);
  Tensor<3> stats = statsOf(it, at[4]);
  forRows(it, at, [&](Row &row) {
    double largest = *std::max_element(row.scores.begin(), row.scores.end());
    double sum = 0;
    for (double &score : row.scores)
      sum += score = std::exp(score - largest);
    for (int64_t e = 0; e < it.value_width; ++e) {
      double value = 0;
      for (int64_t j = 0; j < row.keys; ++j)
        value += row.scores[size_t(j)] * v({row.b, row.g, j, e});
      o.set({row.b, row.h, row.i, e}, value / sum);
    }
    if (at[4])
      stats.set({row.b, row.h, row.i}, largest + std::log(sum));
  });
}

void computeGradient(const sw_attention_desc &it, const Addresses &at) {
  Element element = elementOfRuntime(it.dtype);
  Tensor<4> q(at[0], element, it.q), k(at[1], element, it.k),
      v(at[2], element, it.v), o(at[3], element, it.o),
      dO(at[5], element, it.d_o), dQ(at[6], element, it.d_q),
      dK(at[7], element, it.d_k), dV(at[8], element, it.d_v);
  Tensor<3> stats = statsOf(it, at[4]);
  for (int64_t b = 0; b < it.batch; ++b) // Keys that no query attends to.
    for (int64_t g = 0; g < it.key_heads; ++g)
      for (int64_t j = 0; j < it.keys; ++j) {
        for (int64_t d = 0; d < it.width; ++d)
          dK.add({b, g, j, d}, 0);
        for (int64_t e = 0; e < it.value_width; ++e)
          dV.add({b, g, j, e}, 0);
      }
  forRows(it, at, [&](const Row &row) {
    auto [b, h, i, g, keys, scores] = row;
    double whole = 0, statistic = stats({b, h, i});
    for (int64_t e = 0; e < it.value_width; ++e)
      whole += o({b, h, i, e}) * dO({b, h, i, e});
    for (int64_t j = 0; j < keys; ++j) {
      double weight = std::exp(scores[size_t(j)] - statistic), part = 0;
      for (int64_t e = 0; e < it.value_width; ++e) {
        part += dO({b, h, i, e}) * v({b, g, j, e});
        dV.add({b, g, j, e}, weight * dO({b, h, i, e}));
      }
      double ofScore = weight * (part - whole) * double(it.scale);
      for (int64_t d = 0; d < it.width; ++d) {
        dQ.add({b, h, i, d}, ofScore * k({b, g, j, d}));
        dK.add({b, g, j, d}, ofScore * q({b, h, i, d}));
      }
    }
  });
  for (const Tensor<4> *sums : {&dQ, &dK, &dV})
    sums->finish();
}

} // namespace emulator
