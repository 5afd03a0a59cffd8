//===- ProductTest.cpp - contractions as cuBLASLt calls -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Contraction.h"

#include <gtest/gtest.h>

#include <random>

using namespace stagewright::runtime;
using namespace stagewright::runtime::cuda;

namespace {

/// Index of element (i, j) of batch `b` of call `c`.
int64_t place(const LtMatrix &matrix, int64_t i, int64_t j, int64_t b,
              int64_t c) {
  if (matrix.transposed)
    std::swap(i, j);
  EXPECT_LT(i, matrix.rows);
  EXPECT_LT(j, matrix.columns);
  return i + j * matrix.row + b * matrix.batch + c * matrix.step;
}

/// The library's definition: D = op(A) op(B) + beta D, column-major.
void multiply(const LtProduct &it, const std::vector<double> &a,
              const std::vector<double> &b, std::vector<double> &c) {
  int64_t inner = it.a.transposed ? it.a.rows : it.a.columns;
  const std::vector<double> &left = it.a.address == 0 ? a : b;
  const std::vector<double> &right = it.b.address == 0 ? a : b;
  for (int64_t call = 0; call < it.calls; ++call)
    for (int64_t batch = 0; batch < it.batches; ++batch)
      for (int64_t i = 0; i < it.c.rows; ++i)
        for (int64_t j = 0; j < it.c.columns; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < inner; ++k)
            sum += left[place(it.a, i, k, batch, call)] *
                   right[place(it.b, k, j, batch, call)];
          double &to = c[place(it.c, i, j, batch, call)];
          to = it.adds ? to + sum : sum;
        }
}

/// The definition of sw_gemm_desc.
void reference(const sw_gemm_desc &it, const std::vector<double> &a,
               const std::vector<double> &b, std::vector<double> &c) {
  for (int64_t o = 0; o < it.batch[0]; ++o)
    for (int64_t n = 0; n < it.batch[1]; ++n)
      for (int64_t i = 0; i < it.m; ++i)
        for (int64_t j = 0; j < it.n; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < it.k; ++k)
            sum += a[o * it.a_batch[0] + n * it.a_batch[1] + i * it.a_row +
                     k * it.a_col] *
                   b[o * it.b_batch[0] + n * it.b_batch[1] + k * it.b_row +
                     j * it.b_col];
          double &to = c[o * it.c_batch[0] + n * it.c_batch[1] + i * it.c_row +
                         j * it.c_col];
          to = it.beta ? to + sum : sum;
        }
}

/// Strides of an m x n matrix with `gap` elements between its rows or columns.
void lie(bool rows, int64_t m, int64_t n, int64_t gap, int64_t &row,
         int64_t &column) {
  row = rows ? n + gap : 1;
  column = rows ? 1 : m + gap;
}

/// Strides of batches of `size` elements: outer, inner, or exchanged.
void batch(bool exchanged, const int64_t (&extents)[2], int64_t size,
           int64_t (&strides)[2]) {
  strides[0] = exchanged ? size : size * extents[1];
  strides[1] = exchanged ? size * extents[0] : size;
}

TEST(Product, IsTheContraction) {
  std::mt19937 random(1);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 2000; ++round) {
    Contraction it = {};
    sw_gemm_desc &gemm = it.desc.gemm;
    gemm.dtype = it.desc.a_dtype = it.desc.b_dtype = SW_F32;
    gemm.beta = int32_t(pick(0, 1));
    gemm.m = pick(1, 4), gemm.n = pick(1, 4), gemm.k = pick(1, 4);
    gemm.batch[0] = pick(1, 3), gemm.batch[1] = pick(1, 3);
    lie(pick(0, 1), gemm.m, gemm.k, pick(0, 2), gemm.a_row, gemm.a_col);
    lie(pick(0, 1), gemm.k, gemm.n, pick(0, 2), gemm.b_row, gemm.b_col);
    lie(pick(0, 1), gemm.m, gemm.n, pick(0, 2), gemm.c_row, gemm.c_col);
    batch(pick(0, 1), gemm.batch, 64, gemm.a_batch);
    batch(pick(0, 1), gemm.batch, pick(0, 1) * 64, gemm.b_batch);
    batch(pick(0, 1), gemm.batch, 64, gemm.c_batch);
    it.a = 0, it.b = 1, it.c = 2;

    std::vector<double> a(64 * 9), b(64 * 9), c(64 * 9);
    for (std::vector<double> *each : {&a, &b, &c})
      for (double &value : *each)
        value = double(pick(-5, 5));
    std::vector<double> expected = c, actual = c;
    reference(gemm, a, b, expected);
    LtProduct product = asProduct(it);
    multiply(product, a, b, actual);
    ASSERT_EQ(actual, expected) << "round " << round;
    EXPECT_GE(product.a.row, product.a.rows);
    EXPECT_GE(product.b.row, product.b.rows);
    EXPECT_GE(product.c.row, product.c.rows);
  }
}

Contraction square(int32_t epilogue = SW_EPILOGUE_NONE) {
  Contraction it = {};
  it.desc.gemm = {SW_BF16, 0, 8, 8, 8, {1, 1}, 8, 1, 8, 1, 8, 1, {}, {}, {}};
  it.desc.a_dtype = it.desc.b_dtype = SW_BF16;
  it.desc.epilogue = epilogue;
  return it;
}

TEST(Product, SumsAreOfTheOperandTheyWereAskedOf) {
  // Operands are exchanged if C is row-major; column-major keeps them.
  Contraction it = square(SW_EPILOGUE_A_SUM);
  EXPECT_EQ(asProduct(it).epilogue, ltEpilogueSumB);
  it.desc.gemm.c_row = 1, it.desc.gemm.c_col = 8;
  EXPECT_EQ(asProduct(it).epilogue, ltEpilogueSumA);
}

TEST(Product, AddsAnotherArrayAsItsC) {
  Contraction it = square(SW_EPILOGUE_ADD);
  it.desc.aux_dtype = SW_BF16, it.desc.aux_row = 16;
  it.c = 4096, it.aux = 8192;
  LtProduct product = asProduct(it);
  EXPECT_EQ(product.epilogue, ltEpilogueDefault);
  EXPECT_TRUE(product.adds);
  EXPECT_EQ(product.added.address, 8192u);
  EXPECT_EQ(product.added.row, 16);
  EXPECT_EQ(product.c.address, 4096u);
  EXPECT_EQ(product.c.row, 8);
  // A product that only accumulates adds its own C.
  it = square();
  it.desc.gemm.beta = 1, it.c = 4096;
  EXPECT_EQ(asProduct(it).added.address, 4096u);
}

TEST(Product, AccumulatesInSingleAndRoundsToTf32WhenAsked) {
  Contraction it = square();
  EXPECT_EQ(asProduct(it).compute, compute32);
  it.desc.tf32 = 1;
  EXPECT_EQ(asProduct(it).compute, compute32Tf32);
  it.desc.gemm.dtype = SW_F64;
  EXPECT_EQ(asProduct(it).compute, compute64);
}

/// As pp-compile writes it: both operands are contiguous along k. For 8 bits
/// the library requires A transposed and B not ("cublasLtMatmul()").
TEST(Product, OfEightBitsIsAsTheLibraryWantsIt) {
  for (bool rows : {true, false}) {
    Contraction it = {};
    it.desc.gemm = {SW_F32, 0,  32, 48, 64, {1, 1}, 64, 1,
                    1,      64, 48, 1,  {}, {},     {}};
    if (!rows)
      it.desc.gemm.c_row = 1, it.desc.gemm.c_col = 32;
    it.desc.a_dtype = SW_F8E4M3FN, it.desc.b_dtype = SW_F8E5M2;
    LtProduct product = asProduct(it);
    EXPECT_TRUE(product.a.transposed);
    EXPECT_FALSE(product.b.transposed);
    EXPECT_EQ(product.a.row, 64);
    EXPECT_EQ(product.b.row, 64);
    EXPECT_EQ(product.a.dtype, rows ? SW_F8E5M2 : SW_F8E4M3FN);
    EXPECT_EQ(product.compute, compute32);
  }
}

std::string errorOf(const Contraction &it) {
  try {
    asProduct(it);
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

TEST(Product, WhatTheLibraryCannotDoIsNamed) {
  Contraction it = square();
  it.desc.gemm.a_row = 16, it.desc.gemm.a_col = 2;
  EXPECT_EQ(errorOf(it), "a contraction has 8 x 8 elements of A with strides 2 "
                         "and 16, but cuBLASLt needs one stride of 1 and the "
                         "other no smaller than the extent");
  it = square(SW_EPILOGUE_BIAS);
  it.desc.gemm.c_row = 1, it.desc.gemm.c_col = 8;
  EXPECT_EQ(errorOf(it), "a contraction with epilogue 1 has columns of C that "
                         "are 8 apart, expected 1");
  it = square(77);
  EXPECT_EQ(errorOf(it), "a contraction has the unknown epilogue 77");
  it = square(SW_EPILOGUE_GELU);
  it.desc.gemm.batch[1] = 2;
  EXPECT_EQ(errorOf(it),
            "a contraction of 2 batches has epilogue 2, expected none");
  it = square(SW_EPILOGUE_ADD);
  it.desc.aux_dtype = SW_F32;
  EXPECT_EQ(errorOf(it),
            "a contraction to bf16 adds what aux holds of type f32, expected "
            "the same");
  it.desc.gemm.beta = 1;
  EXPECT_EQ(errorOf(it), "a contraction adds to C and what aux holds, expected "
                         "one of them");
  it = square();
  it.desc.b_dtype = SW_I32;
  EXPECT_EQ(errorOf(it), "a contraction has B of type i32, expected f32, f64, "
                         "f16, bf16, f8e4m3fn or f8e5m2");
  it = square();
  it.desc.gemm.dtype = SW_F8E5M2;
  EXPECT_EQ(errorOf(it), "a contraction has C of type f8e5m2, expected f32, "
                         "f64, f16 or bf16");
}

} // namespace
