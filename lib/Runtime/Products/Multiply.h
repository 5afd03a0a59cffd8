//===- Multiply.h - sums of products by tiles -------------------*- C++ -*-===//
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
// where r and s stand for up to three loops each and the place in every operand
// is linear in all loops. A convolution is the case in which a row loop and a
// sum loop walk the same dimension of A. Nothing is made of its overlapping
// windows: the tiles read A where it lies.
//
// Every element of C is one chain of sums, in an order that depends on the
// extents of the sum alone. So a product may be cut by rows or columns, over
// threads for one, and gives the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_MULTIPLY_H
#define STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_MULTIPLY_H

#include "Products/Tiles.h"
#include "stagewright-rt/runtime.h"

#include <cstdint>

namespace stagewright::runtime {

/// Extents and distances, in elements, of a product; outermost loops first.
struct Product {
  int64_t rows[3], columns, sum[3];
  int64_t aRow[3], cRow[3];
  int64_t aSum[3], bSum[3];
  int64_t bColumn, cColumn;
  bool add; ///< to C, or else C is overwritten
};

/// Runs `product` on the calling thread with the tiles of this processor.
/// Allocates nothing: what is packed lies on the stack, under a megabyte.
void multiply(const Product &product, const float *a, const float *b, float *c);
void multiply(const Product &product, const double *a, const double *b,
              double *c);

/// The same with given tiles, of which this processor must be capable.
template <typename T>
void multiplyBy(const Tiles<T> &tiles, const Product &product, const T *a,
                const T *b, T *c);

/// One matrix product of a descriptor, without its batches.
Product productOf(const sw_gemm_desc &desc);

/// "AVX-512", "AVX2" or "any processor": the tiles in use. The environment
/// variable STAGEWRIGHT_TILES (avx2, portable), read once, chooses lesser ones.
const char *tilesName();
/// Whether they are better than portable ones.
bool hasFastTiles();

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_MULTIPLY_H
