//===- TwinConvolutionTest.cpp - convolutions of a device, on the host ----===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Twins/Twins.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

using namespace stagewright::runtime;

namespace {

/// One place: 5 of image, window 3, stride 2, one before and after.
sw_convolve_desc line() {
  return {SW_CONVOLVE_RESULT,
          SW_F32,
          SW_F32,
          SW_F32,
          0,
          0,
          1,
          1,
          1,
          1,
          {1, 1, 5},
          {1, 1, 3},
          {1, 1, 3},
          {1, 1, 2},
          {1, 1, 1},
          {0, 0, 1},
          {0, 0, 1},
          {5, 5, 5, 5, 1},
          {3, 3, 3, 3, 1},
          {3, 3, 3, 3, 1}};
}

TEST(TwinConvolution, IsItsDefinition) {
  std::vector<float> x = {1, 2, 3, 4, 5}, w = {1, 10, 100}, y(3);
  sw_convolve_desc desc = line();
  convolveOnHost(desc, x.data(), w.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{210, 432, 54}));
  desc.dilation[2] = 2; // 0 + 20 + 400, 2 + 40 + 0
  desc.result[2] = 2;
  convolveOnHost(desc, x.data(), w.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{420, 42, 54}));
}

TEST(TwinConvolution, GradientsOverwriteAlsoWhatNoProductMeets) {
  std::vector<float> x(6, 7), w = {1, 10, 100}, y = {1, 2, 3};
  sw_convolve_desc desc = line();
  desc.writes = SW_CONVOLVE_IMAGE;
  desc.image[2] = 6;
  desc.after[2] = 0;
  convolveOnHost(desc, x.data(), w.data(), y.data());
  EXPECT_EQ(x, (std::vector<float>{10, 102, 20, 203, 30, 300}));
  desc.image[2] = 6;
  desc.window[2] = 1;
  desc.before[2] = 0; // places 0, 2 and 4 alone
  convolveOnHost(desc, x.data(), w.data(), y.data());
  EXPECT_EQ(x, (std::vector<float>{1, 0, 2, 0, 3, 0}));
}

/// Groups, two dimensions, and strides with gaps: the three are one trilinear
/// form, seen from three sides.
TEST(TwinConvolution, GradientsAreThoseOfTheResult) {
  sw_convolve_desc desc = {SW_CONVOLVE_RESULT,
                           SW_F64,
                           SW_F64,
                           SW_F64,
                           0,
                           0,
                           2,
                           4,
                           6,
                           2,
                           {1, 7, 6},
                           {1, 3, 2},
                           {1, 4, 5},
                           {1, 2, 1},
                           {1, 1, 2},
                           {0, 1, 0},
                           {0, 1, 1},
                           {168, 1, 0, 24, 4},
                           {2 * 6, 6, 0, 2, 1},
                           {130, 1, 0, 32, 6}};
  ASSERT_EQ((7 + 2 - 2 - 1) / 2 + 1, 4);
  ASSERT_EQ((6 + 1 - 2 - 1) / 1 + 1, 5);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> number(-1, 1);
  auto filled = [&](size_t size) {
    std::vector<double> list(size);
    for (double &it : list)
      it = number(random);
    return list;
  };
  std::vector<double> x = filled(2 * 168), w = filled(72), g = filled(260);
  // What lies between rows and batches is no element.
  for (int n = 0; n < 2; ++n)
    for (int i = 0; i < 130; ++i)
      if (i >= 4 * 32 || i % 32 >= 30)
        g[size_t(n * 130 + i)] = 0;
  std::vector<double> y(g.size()), dx(x.size()), dw(w.size());
  convolveOnHost(desc, x.data(), w.data(), y.data());
  desc.writes = SW_CONVOLVE_IMAGE;
  convolveOnHost(desc, dx.data(), w.data(), g.data());
  desc.writes = SW_CONVOLVE_FILTER;
  convolveOnHost(desc, x.data(), dw.data(), g.data());
  auto dot = [](const std::vector<double> &a, const std::vector<double> &b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  EXPECT_NE(dot(y, g), 0);
  EXPECT_NEAR(dot(y, g), dot(x, dx), 1e-12);
  EXPECT_NEAR(dot(y, g), dot(w, dw), 1e-12);
}

TEST(TwinConvolution, RoundsNarrowResultsOnce) {
  // 1 + 2^-8 of bfloat16's 8 bits: two of them sum to what rounds up, each
  // rounded before would not.
  std::vector<float> w = {1, 1, 1};
  std::vector<float> x = {1, 0.00390625f, 0.00390625f, 0, 0};
  std::vector<uint16_t> y(3);
  sw_convolve_desc desc = line();
  desc.y_dtype = SW_BF16;
  desc.before[2] = 0;
  desc.after[2] = 2;
  convolveOnHost(desc, x.data(), w.data(), y.data());
  EXPECT_EQ(y[0], 0x3f81); // 1 + 2^-7
}

TEST(TwinConvolution, RefusesAnOperandThatIsNone) {
  sw_convolve_desc desc = line();
  desc.writes = 3;
  try {
    convolveOnHost(desc, nullptr, nullptr, nullptr);
    FAIL() << "wrote operand 3";
  } catch (const std::exception &error) {
    EXPECT_STREQ(error.what(),
                 "a convolution writes its operand 3, expected 0, 1 or 2");
  }
}

} // namespace
