//===- Convolution.cpp - a convolution by its definition ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graphs.h"

namespace emulator {

namespace {

using Indices = Tensor<5>::Indices;

/// Calls `function` for all indices within `extents`.
template <typename Function>
void forAll(const Indices &extents, Function function) {
  Indices at = {};
  for (at[0] = 0; at[0] < extents[0]; ++at[0])
    for (at[1] = 0; at[1] < extents[1]; ++at[1])
      for (at[2] = 0; at[2] < extents[2]; ++at[2])
        for (at[3] = 0; at[3] < extents[3]; ++at[3])
          for (at[4] = 0; at[4] < extents[4]; ++at[4])
            function(at);
}

Indices join(int64_t first, int64_t second, const int64_t *three) {
  return {first, second, three[0], three[1], three[2]};
}

} // namespace

void compute(const sw_convolve_desc &it, const Addresses &at) {
  Tensor<5> x(at[0], elementOfRuntime(it.x_dtype), it.x),
      w(at[1], elementOfRuntime(it.w_dtype), it.w),
      y(at[2], elementOfRuntime(it.y_dtype), it.y);
  int64_t channels = it.channels / it.groups, filters = it.filters / it.groups;
  // By sw_convolve.
  const Indices written[] = {join(it.batch, it.filters, it.result),
                             join(it.batch, it.channels, it.image),
                             join(it.filters, channels, it.window)};
  Tensor<5> &sums = *std::array{&y, &x, &w}[size_t(it.writes)];
  forAll(written[it.writes], [&](const Indices &index) { sums.add(index, 0); });
  forAll(written[SW_CONVOLVE_RESULT], [&](const Indices &of) {
    forAll(join(1, channels, it.window), [&](const Indices &step) {
      Indices from = {of[0], of[1] / filters * channels + step[1]};
      Indices weight = {of[1], step[1], step[2], step[3], step[4]};
      for (size_t i = 0; i < 3; ++i) {
        from[i + 2] = of[i + 2] * it.stride[i] + step[i + 2] * it.dilation[i] -
                      it.before[i];
        if (from[i + 2] < 0 || from[i + 2] >= it.image[i])
          return;
      }
      if (it.writes == SW_CONVOLVE_RESULT)
        sums.add(of, x(from) * w(weight));
      else if (it.writes == SW_CONVOLVE_IMAGE)
        sums.add(from, y(of) * w(weight));
      else
        sums.add(weight, y(of) * x(from));
    });
  });
  sums.finish();
}

} // namespace emulator
