//===- Gemm.cpp - contractions and convolutions of generated code ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DType.h"
#include "Products/Blas.h"
#include "Products/Multiply.h"
#include "stagewright/Runtime/Error.h"

#include <utility>
#include <vector>

namespace stagewright::runtime {

namespace {

/// If C is column-major, swaps `a` and `b` and returns the transposed
/// contraction, C^T = B^T A^T; else returns `d`.
sw_gemm_desc asRowMajor(const sw_gemm_desc &d, const void *&a, const void *&b) {
  if (d.c_col == 1 || d.c_row != 1)
    return d;
  sw_gemm_desc flipped = d;
  std::swap(flipped.m, flipped.n);
  flipped.a_row = d.b_col, flipped.a_col = d.b_row;
  flipped.b_row = d.a_col, flipped.b_col = d.a_row;
  std::swap(flipped.c_row, flipped.c_col);
  for (int i = 0; i < 2; ++i)
    std::swap(flipped.a_batch[i], flipped.b_batch[i]);
  std::swap(a, b);
  return flipped;
}

/// If all products of batch dimension `dim` share B, makes that dimension row
/// loop `row`, so that B is packed once.
void takeBatch(sw_gemm_desc &d, int dim, Product &product, int row) {
  if (d.batch[dim] == 1 || d.b_batch[dim] != 0)
    return;
  product.rows[row] = d.batch[dim];
  product.aRow[row] = d.a_batch[dim];
  product.cRow[row] = d.c_batch[dim];
  d.batch[dim] = 1;
}

template <typename T>
void gemmByTiles(const sw_gemm_desc &desc, const void *a, const void *b,
                 void *c) {
  sw_gemm_desc d = asRowMajor(desc, a, b);
  Product product = productOf(d);
  takeBatch(d, 0, product, 0);
  takeBatch(d, 1, product, 1);
  for (int64_t i = 0; i < d.batch[0]; ++i)
    for (int64_t j = 0; j < d.batch[1]; ++j)
      multiply(product,
               static_cast<const T *>(a) + i * d.a_batch[0] + j * d.a_batch[1],
               static_cast<const T *>(b) + i * d.b_batch[0] + j * d.b_batch[1],
               static_cast<T *>(c) + i * d.c_batch[0] + j * d.c_batch[1]);
}

} // namespace

Product productOf(const sw_gemm_desc &d) {
  return {.rows = {1, 1, d.m},
          .columns = d.n,
          .sum = {1, 1, d.k},
          .aRow = {0, 0, d.a_row},
          .cRow = {0, 0, d.c_row},
          .aSum = {0, 0, d.a_col},
          .bSum = {0, 0, d.b_row},
          .bColumn = d.b_col,
          .cColumn = d.c_col,
          .add = d.beta != 0};
}

void gemm(const sw_gemm_desc &desc, const void *a, const void *b, void *c) {
  if (desc.dtype != SW_F32 && desc.dtype != SW_F64)
    raise("a contraction of ", dtypeName(desc.dtype),
          " is not supported by the runtime");
  if (gemmByBlas(desc, a, b, c))
    return;
  if (desc.dtype == SW_F32)
    gemmByTiles<float>(desc, a, b, c);
  else
    gemmByTiles<double>(desc, a, b, c);
}

void convolution(const sw_convolution_desc &d, const void *a, const void *b,
                 void *c) {
  Product product = {};
  product.columns = d.columns;
  product.bColumn = d.b_col, product.cColumn = d.c_col;
  product.add = d.beta != 0;
  for (int i = 0; i < 3; ++i) {
    product.rows[i] = d.rows[i], product.sum[i] = d.sum[i];
    product.aRow[i] = d.a_row[i], product.cRow[i] = d.c_row[i];
    product.aSum[i] = d.a_sum[i], product.bSum[i] = d.b_sum[i];
  }
  if (d.dtype == SW_F32)
    multiply(product, static_cast<const float *>(a),
             static_cast<const float *>(b), static_cast<float *>(c));
  else if (d.dtype == SW_F64)
    multiply(product, static_cast<const double *>(a),
             static_cast<const double *>(b), static_cast<double *>(c));
  else
    raise("a convolution of ", dtypeName(d.dtype),
          " is not supported by the runtime");
}

void warmUpBlas() {
  // With both operands transposed, a library and the tiles pack the most.
  constexpr int64_t n = 512;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  sw_gemm_desc desc = {.dtype = SW_F32,
                       .beta = 0,
                       .m = n,
                       .n = n,
                       .k = n,
                       .batch = {1, 1},
                       .a_row = 1,
                       .a_col = n,
                       .b_row = 1,
                       .b_col = n,
                       .c_row = n,
                       .c_col = 1,
                       .a_batch = {},
                       .b_batch = {},
                       .c_batch = {}};
  gemm(desc, a.data(), b.data(), c.data());
}

} // namespace stagewright::runtime
