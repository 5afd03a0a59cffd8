//===- ConvolutionTest.cpp - convolutions against plain loops -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products/Blas.h"
#include "Products/ParallelGemm.h"
#include "Team.h"
#include "stagewright/Runtime/Error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

using namespace stagewright::runtime;

namespace {

/// A convolution without padding, channels last.
struct Images {
  int64_t images, height, width, channels, features, kernel, stride;

  int64_t inHeight() const { return (height - 1) * stride + kernel; }
  int64_t inWidth() const { return (width - 1) * stride + kernel; }
  int64_t inputs() const { return images * inHeight() * inWidth() * channels; }
  int64_t weights() const { return kernel * kernel * channels * features; }
  int64_t outputs() const { return images * height * width * features; }

  /// out[n, y, x, f] (+)= sum of in[n, y * stride + i, x * stride + j, c] *
  /// weights[i, j, c, f].
  sw_convolution_desc forward(sw_dtype dtype, bool add) const {
    int64_t row = inWidth() * channels;
    return {dtype,
            add,
            {images, height, width},
            features,
            {kernel, kernel, channels},
            {inHeight() * row, stride * row, stride * channels},
            {height * width * features, width * features, features},
            {row, channels, 1},
            {kernel * channels * features, channels * features, features},
            1,
            1};
  }

  /// weights[i, j, c, f] (+)= sum of in[n, y * stride + i, x * stride + j, c] *
  /// out[n, y, x, f].
  sw_convolution_desc ofWeights(sw_dtype dtype, bool add) const {
    int64_t row = inWidth() * channels;
    return {dtype,
            add,
            {kernel, kernel, channels},
            features,
            {images, height, width},
            {row, channels, 1},
            {kernel * channels * features, channels * features, features},
            {inHeight() * row, stride * row, stride * channels},
            {height * width * features, width * features, features},
            1,
            1};
  }
};

// Extents that no tile divides, extents of 1, strides larger than the kernel.
const Images kImages[] = {{1, 1, 1, 1, 1, 1, 1},    {2, 5, 7, 3, 5, 3, 1},
                          {1, 9, 4, 17, 33, 3, 2},  {3, 6, 6, 1, 16, 5, 1},
                          {2, 4, 3, 8, 1, 2, 3},    {1, 13, 11, 4, 70, 1, 2},
                          {2, 16, 16, 16, 32, 3, 1}};

/// The sums by definition, in double precision.
template <typename T>
std::vector<double> reference(const sw_convolution_desc &d,
                              const std::vector<T> &a, const std::vector<T> &b,
                              const std::vector<T> &c) {
  std::vector<double> out(c.begin(), c.end());
  auto place = [](const int64_t *at, const int64_t *by) {
    return at[0] * by[0] + at[1] * by[1] + at[2] * by[2];
  };
  int64_t r[3], s[3];
  for (r[0] = 0; r[0] < d.rows[0]; ++r[0])
    for (r[1] = 0; r[1] < d.rows[1]; ++r[1])
      for (r[2] = 0; r[2] < d.rows[2]; ++r[2])
        for (int64_t j = 0; j < d.columns; ++j) {
          double sum = 0;
          for (s[0] = 0; s[0] < d.sum[0]; ++s[0])
            for (s[1] = 0; s[1] < d.sum[1]; ++s[1])
              for (s[2] = 0; s[2] < d.sum[2]; ++s[2])
                sum += double(a[place(r, d.a_row) + place(s, d.a_sum)]) *
                       double(b[place(s, d.b_sum) + j * d.b_col]);
          double &at = out[place(r, d.c_row) + j * d.c_col];
          at = d.beta ? at + sum : sum;
        }
  return out;
}

template <typename T>
void expectRight(const sw_convolution_desc &d, const std::vector<T> &a,
                 const std::vector<T> &b, const std::vector<T> &c) {
  auto expected = reference(d, a, b, c);
  std::vector<T> got = c;
  convolution(d, a.data(), b.data(), got.data());
  double tolerance = (sizeof(T) == 4 ? 4e-6 : 4e-14) *
                     std::sqrt(double(d.sum[0] * d.sum[1] * d.sum[2]));
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance) << "element " << i;
}

template <typename T> void expectAllRight(sw_dtype dtype) {
  requireBlas();
  for (const Images &it : kImages) {
    SCOPED_TRACE(testing::Message()
                 << it.images << " x " << it.height << " x " << it.width << ", "
                 << it.channels << " to " << it.features << ", kernel "
                 << it.kernel << ", stride " << it.stride);
    auto in = randomNumbers<T>(it.inputs(), 1),
         weights = randomNumbers<T>(it.weights(), 2),
         out = randomNumbers<T>(it.outputs(), 3);
    for (bool add : {false, true}) {
      expectRight(it.forward(dtype, add), in, weights, out);
      expectRight(it.ofWeights(dtype, add), in, out, weights);
    }
  }
}

TEST(Convolution, SinglePrecision) { expectAllRight<float>(SW_F32); }
TEST(Convolution, DoublePrecision) { expectAllRight<double>(SW_F64); }

TEST(Convolution, OfOtherTypesIsAnError) {
  sw_convolution_desc d = kImages[0].forward(SW_I32, false);
  int32_t numbers[3] = {};
  EXPECT_THROW(convolution(d, numbers, numbers + 1, numbers + 2), Error);
}

/// Large enough to be split: over images, over rows of one image, and over rows
/// of the weights' gradient.
TEST(ParallelConvolution, ThreadsDoNotChangeABit) {
  requireBlas();
  for (const Images &it :
       {Images{5, 17, 13, 16, 24, 3, 1}, Images{1, 40, 23, 8, 40, 3, 2},
        Images{2, 30, 30, 33, 20, 1, 1}}) {
    auto in = randomNumbers<float>(it.inputs(), 1),
         weights = randomNumbers<float>(it.weights(), 2),
         out = randomNumbers<float>(it.outputs(), 3);
    for (bool add : {false, true})
      for (bool back : {false, true}) {
        auto d = back ? it.ofWeights(SW_F32, add) : it.forward(SW_F32, add);
        const auto &b = back ? out : weights, &start = back ? weights : out;
        std::vector<float> expected = start;
        convolution(d, in.data(), b.data(), expected.data());
        for (int64_t threads : {1, 2, 3}) {
          Team team(threads);
          std::vector<float> c = start;
          parallelConvolution(team.rank, d, in.data(), b.data(), c.data());
          ASSERT_EQ(c, expected) << threads << " threads";
        }
      }
  }
}

/// More ranks and threads than processors, all running at once, repeatedly.
TEST(ParallelGemm, RanksUnderLoadKeepTheirBits) {
  requireBlas();
  constexpr int64_t m = 130, n = 257, k = 96;
  sw_gemm_desc d = {SW_F32, 1, m, n, k,      {1, 1}, k,     1,
                    n,      1, n, 1, {0, 0}, {0, 0}, {0, 0}};
  Images it = {2, 15, 15, 16, 24, 3, 1};
  auto a = randomNumbers<float>(m * k, 1), b = randomNumbers<float>(k * n, 2),
       c = randomNumbers<float>(m * n, 3);
  auto in = randomNumbers<float>(it.inputs(), 4),
       weights = randomNumbers<float>(it.weights(), 5);
  std::vector<float> product = c, image(it.outputs());
  gemm(d, a.data(), b.data(), product.data());
  convolution(it.forward(SW_F32, false), in.data(), weights.data(),
              image.data());
  std::vector<int> wrong(4);
  std::vector<std::thread> ranks;
  for (int &count : wrong)
    ranks.emplace_back([&, &count = count] {
      Team team(3);
      for (int round = 0; round < 100; ++round) {
        std::vector<float> mine = c, shown(image.size());
        parallelGemm(team.rank, d, a.data(), b.data(), mine.data());
        parallelConvolution(team.rank, it.forward(SW_F32, false), in.data(),
                            weights.data(), shown.data());
        count += mine != product || shown != image;
      }
    });
  for (std::thread &rank : ranks)
    rank.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

} // namespace
