//===- Product.h - a product as cuBLASLt defines it -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_LIBRARIES_PRODUCT_H
#define STAGEWRIGHT_TEST_CUDA_LIBRARIES_PRODUCT_H

#include "Tensor.h"

#include <array>

namespace emulator {

/// A column-major matrix, as everywhere in cuBLASLt.
struct Matrix {
  uint64_t address = 0;
  const Element *element = f32;
  int64_t rows = 0, columns = 0;
  int64_t row = 0; ///< elements from one column to the next
  int64_t batches = 1, batch = 0;

  /// Bytes from the address to the end of the last element.
  int64_t bytes() const {
    return (rows + (columns - 1) * row + (batches - 1) * batch) * element->size;
  }
};

/// D = epilogue(alpha op(A) op(B) + beta C); C may be in the place of D.
struct Product {
  std::array<Matrix, 4> matrices = {}; ///< A, B, C and D
  bool transposesA = false, transposesB = false, rounds = false; ///< to TF32
  double alpha = 1, beta = 0;
  int epilogue = 1;
  Matrix bias = {}, aux = {}; ///< of the epilogue

  // Bits of `cublasLtEpilogue_t`.
  static constexpr int none = 1, addsBias = 4, sumsRows = 16, gelus = 32,
                       derives = 64, hasAux = 128, sumsA = 256, sumsB = 512;
  bool does(int bits) const { return epilogue & bits; }
  bool sumsOperand() const { return does(sumsA | sumsB); }
  bool writesBias() const { return does(sumsRows) || sumsOperand(); }
  bool writesAux() const { return does(hasAux) && !does(derives); }
  bool hasBias() const { return does(addsBias) || writesBias(); }
  int64_t depth() const {
    return transposesA ? matrices[0].rows : matrices[0].columns;
  }
};

/// Computes a product in device memory; throws `Violation`.
void compute(const Product &product);

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_LIBRARIES_PRODUCT_H
