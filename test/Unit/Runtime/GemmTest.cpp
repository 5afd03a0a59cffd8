//===- GemmTest.cpp - contractions against plain loops --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products/Blas.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace stagewright::runtime;

namespace {

/// C by definition, in double precision.
template <typename T>
std::vector<double> reference(const sw_gemm_desc &d, const std::vector<T> &a,
                              const std::vector<T> &b,
                              const std::vector<T> &c) {
  std::vector<double> out(c.begin(), c.end());
  for (int64_t p = 0; p < d.batch[0]; ++p)
    for (int64_t q = 0; q < d.batch[1]; ++q)
      for (int64_t i = 0; i < d.m; ++i)
        for (int64_t j = 0; j < d.n; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < d.k; ++k)
            sum += double(a[p * d.a_batch[0] + q * d.a_batch[1] + i * d.a_row +
                            k * d.a_col]) *
                   double(b[p * d.b_batch[0] + q * d.b_batch[1] + k * d.b_row +
                            j * d.b_col]);
          double &at = out[p * d.c_batch[0] + q * d.c_batch[1] + i * d.c_row +
                           j * d.c_col];
          at = d.beta ? at + sum : sum;
        }
  return out;
}

template <typename T>
void expectRight(sw_gemm_desc d, int64_t sizeA, int64_t sizeB, int64_t sizeC) {
  requireBlas();
  d.dtype = sizeof(T) == 4 ? SW_F32 : SW_F64;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<T> a(sizeA), b(sizeB), c(sizeC);
  for (auto *list : {&a, &b, &c})
    for (T &x : *list)
      x = T(value(random));
  auto expected = reference(d, a, b, c);
  gemm(d, a.data(), b.data(), c.data());
  double tolerance =
      (sizeof(T) == 4 ? 1e-6 : 1e-14) * std::sqrt(double(d.k + 1)) * 4;
  for (int64_t i = 0; i < sizeC; ++i)
    ASSERT_NEAR(c[i], expected[i], tolerance) << "element " << i;
}

/// Row-major and transposed operands; sizes of small products that Blas.cpp
/// splits, and others.
TEST(Gemm, EveryTransposition) {
  for (int64_t m : {1, 5, 128, 200})
    for (int64_t n : {1, 8, 64, 70})
      for (int64_t k : {1, 7, 128})
        for (int flags = 0; flags < 16; ++flags) {
          bool ta = flags & 1, tb = flags & 2, tc = flags & 4;
          sw_gemm_desc d = {
              SW_F32,     (flags & 8) != 0, m,          n,          k,
              {1, 1},     ta ? 1 : k,       ta ? m : 1, tb ? 1 : n, tb ? k : 1,
              tc ? 1 : n, tc ? m : 1,       {0, 0},     {0, 0},     {0, 0}};
          expectRight<float>(d, m * k, k * n, m * n);
          if (::testing::Test::HasFatalFailure())
            return;
        }
}

TEST(Gemm, DoublePrecision) {
  sw_gemm_desc d = {SW_F64, 1, 9, 8, 7,      {1, 1}, 7,     1,
                    8,      1, 8, 1, {0, 0}, {0, 0}, {0, 0}};
  expectRight<double>(d, 63, 56, 72);
}

TEST(Gemm, AttentionWithHeadsInside) {
  // q[b, t, h, d] and k[b, s, h, d] give c[b, h, t, s].
  int64_t b = 2, t = 128, h = 3, e = 64;
  sw_gemm_desc d = {SW_F32,
                    0,
                    t,
                    t,
                    e,
                    {b, h},
                    h * e,
                    1,
                    1,
                    h * e,
                    t,
                    1,
                    {t * h * e, e},
                    {t * h * e, e},
                    {h * t * t, t * t}};
  expectRight<float>(d, b * t * h * e, b * t * h * e, b * h * t * t);
}

TEST(Gemm, SharedMatrixJoinsTheBatches) {
  sw_gemm_desc d = {SW_F32, 1, 6, 5, 4,        {2, 3}, 4,       1,
                    5,      1, 5, 1, {72, 24}, {0, 0}, {90, 30}};
  expectRight<float>(d, 144, 20, 180);
}

TEST(Gemm, StridesThatBlasCannotExpress) {
  sw_gemm_desc d = {SW_F32, 0, 4, 3, 5,      {1, 1}, 20,    2,
                    9,      3, 8, 2, {0, 0}, {0, 0}, {0, 0}};
  expectRight<float>(d, 80, 60, 32);
  d.a_row = d.a_col = 0; // all elements of A are one number
  expectRight<float>(d, 1, 60, 32);
}

TEST(Gemm, EmptySum) {
  sw_gemm_desc d = {SW_F32, 0, 2, 2, 0,      {1, 1}, 1,     1,
                    2,      1, 2, 1, {0, 0}, {0, 0}, {0, 0}};
  expectRight<float>(d, 1, 1, 4);
}

} // namespace
