//===- Product.h - a product as cuBLASLt defines it -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_LIBRARIES_PRODUCT_H
#define STAGEWRIGHT_TEST_CUDA_LIBRARIES_PRODUCT_H

#include "Numbers.h"

namespace emulator {

/// A column-major matrix, as everywhere in cuBLASLt.
struct Matrix {
  Element element;
  int64_t rows, columns;
  int64_t row; ///< elements from one column to the next
  int64_t batches = 1, batch = 0;
  uint64_t address = 0;

  /// Elements from the first to this one.
  int64_t place(int64_t i, int64_t j, int64_t z = 0) const {
    return i + j * row + z * batch;
  }
  /// Bytes from the address to the end of the last element.
  int64_t bytes() const {
    return (place(rows - 1, columns - 1, batches - 1) + 1) * sizeOf(element);
  }
};

/// D = epilogue(alpha op(A) op(B) + beta C); C may be in the place of D.
struct Product {
  Matrix a, b, c, d;
  bool transposesA = false, transposesB = false;
  bool rounds = false; ///< rounds operands to TF32
  double alpha = 1, beta = 0;
  int epilogue = 1;
  Matrix bias = {}, aux = {}; ///< of the epilogue

  // Bits of `cublasLtEpilogue_t`.
  static constexpr int none = 1, addsBias = 4, sumsRows = 16, gelus = 32,
                       derives = 64, hasAux = 128, sumsA = 256, sumsB = 512;
  bool does(int bits) const { return epilogue & bits; }
  bool writesBias() const { return does(sumsRows | sumsA | sumsB); }
  bool hasBias() const { return does(addsBias) || writesBias(); }
  int64_t depth() const { return transposesA ? a.rows : a.columns; }
};

/// Computes a product in device memory; throws `Violation`.
void compute(const Product &product);

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_LIBRARIES_PRODUCT_H
