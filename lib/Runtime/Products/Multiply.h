//===- Multiply.h - contractions and convolutions by tiles ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One routine for contractions and convolutions: both are
//
//   C[r, j] (+)= sum over s of A[r, s] * B[s, j]
//
// where r and s stand for up to three loops each and the position in every
// operand is linear in all loops. In a convolution a row loop and a sum loop
// index the same dimension of A. Its overlapping windows are not materialised:
// the tiles read A in place.
//
// Every element of C is summed in one order, which depends only on the extents
// of the sum. So a product may be split by rows or columns, for example over
// threads, with bit-identical results.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_MULTIPLY_H
#define STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_MULTIPLY_H

#include "Products/Tiles.h"
#include "stagewright-rt/runtime.h"

#include <cstdint>

namespace stagewright::runtime {

/// Extents and strides, in elements, of a product; outermost loops first.
struct Product {
  int64_t rows[3], columns, sum[3];
  int64_t aRow[3], cRow[3];
  int64_t aSum[3], bSum[3];
  int64_t bColumn, cColumn;
  bool add; ///< true: adds to C; false: overwrites C
};

/// Runs `product` on the calling thread with the tiles of this processor. Does
/// not allocate: packed operands are on the stack, under a megabyte.
void multiply(const Product &product, const float *a, const float *b, float *c);
void multiply(const Product &product, const double *a, const double *b,
              double *c);

/// The same with the given tiles, which this processor must support.
template <typename T>
void multiplyBy(const Tiles<T> &tiles, const Product &product, const T *a,
                const T *b, T *c);

/// The product of one batch of a descriptor.
Product productOf(const sw_gemm_desc &desc);

/// The tiles in use: "AVX-512", "AVX2" or "any processor". The environment
/// variable STAGEWRIGHT_TILES (avx2, portable), read once, selects slower ones.
const char *tilesName();
/// Whether the tiles in use are faster than the portable ones.
bool hasFastTiles();

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_MULTIPLY_H
