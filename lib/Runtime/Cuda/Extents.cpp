//===- Extents.cpp - the memory that library calls touch ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Extents.h"

#include "DType.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <map>

namespace stagewright::runtime::cuda {

namespace {

/// The bytes of an operand with these extents and strides.
int64_t bytesOf(const char *what, std::initializer_list<int64_t> extents,
                const int64_t *strides, int32_t dtype) {
  int64_t last = 0;
  for (int64_t extent : extents) {
    if (extent < 1 || *strides < 0)
      raise("an extent of ", what, " is ", extent, " and its stride ", *strides,
            ", expected at least 1 and 0");
    last += (extent - 1) * *strides++;
  }
  return (last + 1) * dtypeSize(dtype);
}

} // namespace

std::vector<Extent> extentsOf(const Attention &it) {
  const sw_attention_desc &d = it.desc;
  if (d.key_heads < 1 || d.heads % d.key_heads != 0)
    raise("an attention has ", d.heads, " heads, expected a multiple of its ",
          d.key_heads, " heads of keys");
  auto query = [&](const char *what, const int64_t *strides, int64_t width) {
    return bytesOf(what, {d.batch, d.heads, d.queries, width}, strides,
                   d.dtype);
  };
  auto key = [&](const char *what, const int64_t *strides, int64_t width) {
    return bytesOf(what, {d.batch, d.key_heads, d.keys, width}, strides,
                   d.dtype);
  };
  std::vector<Extent> list = {{it.q, query("queries", d.q, d.width)},
                              {it.k, key("keys", d.k, d.width)},
                              {it.v, key("values", d.v, d.value_width)},
                              {it.o, query("results", d.o, d.value_width)}};
  if (it.stats)
    list.push_back(
        {it.stats, d.batch * d.heads * d.queries * int64_t(sizeof(float))});
  if (d.has_bias)
    list.push_back(
        {it.bias, bytesOf("biases", {d.batch, d.heads, d.queries, d.keys},
                          d.bias, d.bias_dtype)});
  if (it.gradient)
    list.insert(list.end(),
                {{it.dO, query("results' gradients", d.d_o, d.value_width)},
                 {it.dQ, query("queries' gradients", d.d_q, d.width)},
                 {it.dK, key("keys' gradients", d.d_k, d.width)},
                 {it.dV, key("values' gradients", d.d_v, d.value_width)}});
  return list;
}

std::vector<Extent> extentsOf(const Convolution &it) {
  const sw_convolve_desc &d = it.desc;
  if (d.groups < 1 || d.channels % d.groups != 0 || d.filters % d.groups != 0)
    raise("a convolution of ", d.channels, " channels with ", d.filters,
          " filters has ", d.groups, " groups, which do not divide both");
  for (int i = 0; i < 3; ++i) {
    int64_t room = d.image[i] + d.before[i] + d.after[i] -
                   (d.window[i] - 1) * d.dilation[i] - 1;
    if (d.stride[i] < 1 || d.dilation[i] < 1 || d.before[i] < 0 ||
        d.after[i] < 0 || room < 0 || d.result[i] != room / d.stride[i] + 1)
      raise("a convolution of an image of ", d.image[i], " with a window of ",
            d.window[i], ", stride ", d.stride[i], ", dilation ", d.dilation[i],
            ", ", d.before[i], " before and ", d.after[i],
            " after has no result of ", d.result[i]);
  }
  const int64_t *x = d.image, *w = d.window, *y = d.result;
  return {{it.x, bytesOf("an image", {d.batch, d.channels, x[0], x[1], x[2]},
                         d.x, d.x_dtype)},
          {it.w, bytesOf("filters",
                         {d.filters, d.channels / d.groups, w[0], w[1], w[2]},
                         d.w, d.w_dtype)},
          {it.y, bytesOf("a result", {d.batch, d.filters, y[0], y[1], y[2]},
                         d.y, d.y_dtype)}};
}

int64_t bytesOfWhole(const sw_gemm_desc &gemm) {
  // Strides and extents, sorted by stride.
  std::multimap<int64_t, int64_t> dimensions;
  int64_t elements = 1;
  for (auto [extent, distance] :
       {std::pair(gemm.m, gemm.c_row), std::pair(gemm.n, gemm.c_col),
        std::pair(gemm.batch[0], gemm.c_batch[0]),
        std::pair(gemm.batch[1], gemm.c_batch[1])})
    if (extent > 1)
      dimensions.emplace(distance, extent);
  for (auto [distance, extent] : dimensions) {
    if (distance != elements)
      return 0;
    elements *= extent;
  }
  return elements * dtypeSize(gemm.dtype);
}

} // namespace stagewright::runtime::cuda
