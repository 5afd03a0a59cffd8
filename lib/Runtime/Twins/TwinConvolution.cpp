//===- TwinConvolution.cpp - convolutions of a device, on the host --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The definition, product by product: what is written is summed in a float64
// array of its own and rounded once.
//
//===----------------------------------------------------------------------===//

#include "Error.h"
#include "Twins/TwinElements.h"
#include "Twins/Twins.h"

#include <array>
#include <vector>

namespace stagewright::runtime {

namespace {

using Places = std::array<int64_t, 3>;

/// Calls `body` with every place below `extents`.
template <typename Body>
void forPlaces(const int64_t (&extents)[3], Body body) {
  for (int64_t i = 0; i < extents[0]; ++i)
    for (int64_t j = 0; j < extents[1]; ++j)
      for (int64_t k = 0; k < extents[2]; ++k)
        body(Places{i, j, k});
}

int64_t at(const int64_t (&strides)[5], int64_t outer, int64_t channel,
           const Places &places) {
  int64_t index = outer * strides[0] + channel * strides[1];
  for (int i = 0; i < 3; ++i)
    index += places[i] * strides[2 + i];
  return index;
}

/// Calls `body` with the places in x, w and y of every product; not with those
/// outside of the image.
template <typename Body>
void forProducts(const sw_convolve_desc &d, Body body) {
  int64_t channels = d.channels / d.groups, filters = d.filters / d.groups;
  forPlaces(d.result, [&](const Places &p) {
    forPlaces(d.window, [&](const Places &t) {
      Places from;
      for (int i = 0; i < 3; ++i) {
        from[i] = p[i] * d.stride[i] + t[i] * d.dilation[i] - d.before[i];
        if (from[i] < 0 || from[i] >= d.image[i])
          return;
      }
      for (int64_t n = 0; n < d.batch; ++n)
        for (int64_t f = 0; f < d.filters; ++f)
          for (int64_t c = 0; c < channels; ++c)
            body(at(d.x, n, f / filters * channels + c, from), at(d.w, f, c, t),
                 at(d.y, n, f, p));
    });
  });
}

/// Every place of an operand, whether a product meets it or not.
template <typename Body>
void forElements(const int64_t (&strides)[5], int64_t outer, int64_t channels,
                 const int64_t (&extents)[3], Body body) {
  for (int64_t n = 0; n < outer; ++n)
    for (int64_t c = 0; c < channels; ++c)
      forPlaces(extents, [&](const Places &p) { body(at(strides, n, c, p)); });
}

} // namespace

void convolveOnHost(const sw_convolve_desc &d, void *x, void *w, void *y) {
  std::vector<double> sums;
  auto sum = [&](int64_t index) -> double & {
    if (size_t(index) >= sums.size())
      sums.resize(size_t(index) + 1);
    return sums[size_t(index)];
  };
  auto store = [&](void *to, int32_t dtype) {
    return [&sum, to, dtype](int64_t i) { writeElement(to, dtype, i, sum(i)); };
  };
  auto readX = [&](int64_t i) { return readElement(x, d.x_dtype, i); };
  auto readW = [&](int64_t i) { return readElement(w, d.w_dtype, i); };
  auto readY = [&](int64_t i) { return readElement(y, d.y_dtype, i); };
  switch (d.writes) {
  case SW_CONVOLVE_RESULT:
    forProducts(d, [&](int64_t i, int64_t j, int64_t k) {
      sum(k) += readX(i) * readW(j);
    });
    return forElements(d.y, d.batch, d.filters, d.result, store(y, d.y_dtype));
  case SW_CONVOLVE_IMAGE:
    forProducts(d, [&](int64_t i, int64_t j, int64_t k) {
      sum(i) += readY(k) * readW(j);
    });
    return forElements(d.x, d.batch, d.channels, d.image, store(x, d.x_dtype));
  case SW_CONVOLVE_FILTER:
    forProducts(d, [&](int64_t i, int64_t j, int64_t k) {
      sum(j) += readX(i) * readY(k);
    });
    return forElements(d.w, d.filters, d.channels / d.groups, d.window,
                       store(w, d.w_dtype));
  default:
    raise("a convolution writes its operand ", d.writes,
          ", expected 0, 1 or 2");
  }
}

} // namespace stagewright::runtime
