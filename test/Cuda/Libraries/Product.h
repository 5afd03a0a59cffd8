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

  /// Bytes from the address to the end of the last element.
  int64_t bytes() const {
    return ((batches - 1) * batch + (columns - 1) * row + rows) *
           sizeOf(element);
  }
};

/// `cublasLtEpilogue_t`: what is applied to the product.
enum Epilogue : int {
  epilogueNone = 1,
  epilogueBias = 4,
  epilogueGelu = 32,
  epilogueGeluBias = 36,
  epilogueGeluAux = 160,
  epilogueGeluAuxBias = 164,
  epilogueDgelu = 192,
  epilogueDgeluBias = 208,
  epilogueSumA = 256,
  epilogueSumB = 512
};

/// D = epilogue(alpha op(A) op(B) + beta C); C may be in the place of D.
struct Product {
  Matrix a, b, c, d;
  bool transposesA = false, transposesB = false;
  bool rounds = false; ///< rounds operands to TF32
  double alpha = 1, beta = 0;
  Epilogue epilogue = epilogueNone;
  uint64_t bias = 0, aux = 0; ///< addresses
  Element biasElement = Element::F32, auxElement = Element::F32;
  int64_t auxRow = 0;

  int64_t depth() const { return transposesA ? a.rows : a.columns; }
  bool readsBias() const {
    return epilogue == epilogueBias || epilogue == epilogueGeluBias ||
           epilogue == epilogueGeluAuxBias;
  }
  bool writesBias() const {
    return epilogue == epilogueDgeluBias || epilogue == epilogueSumA ||
           epilogue == epilogueSumB;
  }
  bool readsAux() const {
    return epilogue == epilogueDgelu || epilogue == epilogueDgeluBias;
  }
  bool writesAux() const {
    return epilogue == epilogueGeluAux || epilogue == epilogueGeluAuxBias;
  }
};

/// Computes a product in device memory; throws `Violation`.
void compute(const Product &product);

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_LIBRARIES_PRODUCT_H
