//===- MultiplyTest.cpp - products by tiles against plain loops -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products/Multiply.h"
#include "Team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

using namespace stagewright::runtime;

namespace {

/// All tile kernels that this processor can run.
template <typename T> std::vector<const Tiles<T> *> allTiles();
template <> std::vector<const Tiles<float> *> allTiles() {
  std::vector<const Tiles<float> *> tiles = {&portableTilesF32};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    tiles.push_back(&avx2TilesF32);
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    tiles.push_back(&avx512TilesF32);
#endif
  return tiles;
}
template <> std::vector<const Tiles<double> *> allTiles() {
  std::vector<const Tiles<double> *> tiles = {&portableTilesF64};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    tiles.push_back(&avx2TilesF64);
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    tiles.push_back(&avx512TilesF64);
#endif
  return tiles;
}

/// Calls `visit` with the offsets in A, B and C of every multiplication.
void forEveryTerm(const Product &p,
                  const std::function<void(int64_t, int64_t, int64_t)> &visit) {
  int64_t extent[6] = {p.rows[0], p.rows[1], p.rows[2],
                       p.columns, p.sum[0],  p.sum[1]};
  int64_t a[6] = {p.aRow[0], p.aRow[1], p.aRow[2], 0, p.aSum[0], p.aSum[1]};
  int64_t b[6] = {0, 0, 0, p.bColumn, p.bSum[0], p.bSum[1]};
  int64_t c[6] = {p.cRow[0], p.cRow[1], p.cRow[2], p.cColumn, 0, 0};
  int64_t at[6] = {};
  while (true) {
    int64_t inA = std::inner_product(at, at + 6, a, int64_t(0)),
            inB = std::inner_product(at, at + 6, b, int64_t(0)),
            inC = std::inner_product(at, at + 6, c, int64_t(0));
    for (int64_t i = 0; i < p.sum[2]; ++i)
      visit(inA + i * p.aSum[2], inB + i * p.bSum[2], inC);
    int i = 5;
    while (i >= 0 && ++at[i] == extent[i])
      at[i--] = 0;
    if (i < 0)
      return;
  }
}

template <typename T>
void expectRight(const Product &p, const std::string &what = "") {
  int64_t last[3] = {};
  forEveryTerm(p, [&](int64_t a, int64_t b, int64_t c) {
    int64_t at[3] = {a, b, c};
    for (int i = 0; i < 3; ++i)
      last[i] = std::max(last[i], at[i]);
  });
  // Arrays of exactly the size that is read, so sanitizers find reads beyond.
  auto a = randomNumbers<T>(last[0] + 1, 1),
       b = randomNumbers<T>(last[1] + 1, 2),
       c = randomNumbers<T>(last[2] + 1, 3);
  std::vector<double> expected(c.begin(), c.end());
  std::vector<bool> written(c.size());
  forEveryTerm(p, [&](int64_t i, int64_t j, int64_t k) {
    if (!p.add && !written[k])
      expected[k] = 0;
    written[k] = true;
    expected[k] += double(a[i]) * double(b[j]);
  });
  double terms = double(p.sum[0] * p.sum[1] * p.sum[2]);
  double tolerance = (sizeof(T) == 4 ? 4e-6 : 4e-14) * std::sqrt(terms + 1);
  for (const Tiles<T> *tiles : allTiles<T>()) {
    std::vector<T> got = c;
    multiplyBy(*tiles, p, a.data(), b.data(), got.data());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], expected[i], tolerance)
          << what << " element " << i << " with tiles of " << tiles->lanes;
  }
}

/// Y[n, h, w, o] = sum of X[n, h * stride + i * dilation, ..., c] * W[i, j, c,
/// o]; all arrays are dense.
Product forward(int64_t n, int64_t size, int64_t c, int64_t o, int64_t kernel,
                int64_t stride, int64_t dilation) {
  int64_t in = (size - 1) * stride + (kernel - 1) * dilation + 1;
  // The three row loops are n, h and w.
  return {.rows = {n, size, size},
          .columns = o,
          .sum = {kernel, kernel, c},
          .aRow = {in * in * c, stride * in * c, stride * c},
          .cRow = {size * size * o, size * o, o},
          .aSum = {dilation * in * c, dilation * c, 1},
          .bSum = {kernel * c * o, c * o, o},
          .bColumn = 1,
          .cColumn = 1,
          .add = false};
}

/// The gradient of W: rows and sums are exchanged.
Product weightGradient(const Product &f) {
  Product p = f;
  for (int i = 0; i < 3; ++i) {
    p.rows[i] = f.sum[i], p.aRow[i] = f.aSum[i], p.cRow[i] = f.bSum[i];
    p.sum[i] = f.rows[i], p.aSum[i] = f.aRow[i], p.bSum[i] = f.cRow[i];
  }
  p.add = true;
  return p;
}

TEST(Multiply, Convolutions) {
  for (int64_t channels : {1, 3, 16, 33})
    for (int64_t outputs : {1, 10, 16, 32, 40})
      for (int64_t kernel : {1, 3})
        for (int64_t stride : {1, 2})
          for (int64_t dilation : {1, 2}) {
            Product p =
                forward(2, 7, channels, outputs, kernel, stride, dilation);
            std::string what = std::to_string(channels) + " to " +
                               std::to_string(outputs) + " by " +
                               std::to_string(kernel) + ", stride " +
                               std::to_string(stride);
            expectRight<float>(p, what);
            expectRight<float>(weightGradient(p), what);
            if (HasFatalFailure())
              return;
          }
}

TEST(Multiply, LongSumsAreCut) {
  expectRight<float>(weightGradient(forward(3, 17, 5, 32, 3, 1, 1)));
  expectRight<float>(forward(1, 3, 600, 16, 3, 1, 1));
  expectRight<double>(forward(2, 3, 70, 24, 3, 1, 1));
}

/// All strides of matrices, at sizes around those of the tiles; rows a multiple
/// of 1024 bytes apart are copied first.
TEST(Multiply, Matrices) {
  std::mt19937 random(11);
  auto pick = [&](std::initializer_list<int64_t> values) {
    return values.begin()[random() % values.size()];
  };
  for (int round = 0; round < 60; ++round) {
    int64_t m = pick({1, 2, 13, 14, 15, 31, 64, 170}),
            n = pick({1, 7, 16, 17, 32, 48, 130, 256}),
            k = pick({1, 2, 15, 64, 513, 520});
    int64_t wide = pick({0, 0, 3, 256});
    bool ta = random() % 2, tb = random() % 2, tc = random() % 4 == 0;
    int64_t skip = random() % 5 == 0 ? 2 : 1;
    Product p = {.rows = {1, 1, m},
                 .columns = n,
                 .sum = {1, 1, k},
                 .aRow = {0, 0, ta ? skip : (k + wide) * skip},
                 .cRow = {0, 0, tc ? 1 : n + wide},
                 .aSum = {0, 0, ta ? (m + wide) * skip : skip},
                 .bSum = {0, 0, tb ? 1 : n + wide},
                 .bColumn = tb ? k + wide : 1,
                 .cColumn = tc ? m : 1,
                 .add = random() % 2 == 0};
    std::string what = std::to_string(m) + " x " + std::to_string(n) + " x " +
                       std::to_string(k);
    expectRight<float>(p, what);
    if (round % 4 == 0)
      expectRight<double>(p, what);
    if (HasFatalFailure())
      return;
  }
}

TEST(Multiply, EmptySum) {
  Product p = {.rows = {1, 1, 2},
               .columns = 3,
               .sum = {1, 1, 0},
               .aRow = {0, 0, 1},
               .cRow = {0, 0, 3},
               .aSum = {0, 0, 1},
               .bSum = {0, 0, 3},
               .bColumn = 1,
               .cColumn = 1,
               .add = true};
  float zero = 0, c[6] = {1, 2, 3, 4, 5, 6};
  multiply(p, &zero, &zero, c);
  EXPECT_EQ(c[5], 6);
  p.add = false;
  multiply(p, &zero, &zero, c);
  for (float value : c)
    EXPECT_EQ(value, 0);
}

/// Parts cut at odd rows and columns give the same bits as the whole.
TEST(Multiply, PartsHaveTheBitsOfTheWhole) {
  Product whole = {.rows = {1, 1, 100},
                   .columns = 96,
                   .sum = {1, 1, 700},
                   .aRow = {0, 0, 700},
                   .cRow = {0, 0, 96},
                   .aSum = {0, 0, 1},
                   .bSum = {0, 0, 96},
                   .bColumn = 1,
                   .cColumn = 1,
                   .add = true};
  auto a = randomNumbers<float>(70000, 1), b = randomNumbers<float>(67200, 2),
       c = randomNumbers<float>(9600, 3);
  std::vector<float> cut = c;
  multiply(whole, a.data(), b.data(), c.data());
  for (int64_t row = 0, rows; row < 100; row += rows)
    for (int64_t column = 0, columns; column < 96; column += columns) {
      rows = std::min<int64_t>(row ? 37 : 5, 100 - row);
      columns = std::min<int64_t>(column ? 41 : 3, 96 - column);
      Product part = whole;
      part.rows[2] = rows, part.columns = columns;
      multiply(part, a.data() + row * 700, b.data() + column,
               cut.data() + row * 96 + column);
    }
  EXPECT_EQ(c, cut);
}

} // namespace
