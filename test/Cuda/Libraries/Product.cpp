//===- Product.cpp - a product as cuBLASLt defines it ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each sum has 16 partial sums in float32: a tensor core, too, adds in an order
// of its own.
//
//===----------------------------------------------------------------------===//

#include "Product.h"

#include <bit>
#include <cmath>

namespace emulator {

static double geluTanh(double x) {
  return std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
}
static double gelu(double x) { return 0.5 * x * (1 + geluTanh(x)); }
static double geluDerivative(double x) {
  double t = geluTanh(x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 *
                             (1 + 3 * 0.044715 * x * x);
}

/// Rounded to a mantissa of 10 bits, as a tensor core reads float32 (TF32).
static float tf32(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
  return std::bit_cast<float>(bits);
}

/// The elements by batch, column and row, or by batch, row and column.
template <typename T>
static Tensor<T> tensorOf(const Matrix &it, const char *loads,
                          bool rowsFirst = false) {
  std::array extents = {it.batches, it.columns, it.rows},
             strides = {it.batch, it.row, int64_t(1)};
  if (rowsFirst) {
    std::swap(extents[1], extents[2]);
    std::swap(strides[1], strides[2]);
  }
  return Tensor<T>({extents[0], extents[1], extents[2]}, it.address, it.element,
                   strides.data(), loads);
}

/// The rows of op(A) or the columns of op(B), each contiguous.
template <typename T>
static Tensor<T> factorOf(const Matrix &it, bool rowsFirst, bool rounds) {
  auto factor = tensorOf<T>(it, "multiplies", rowsFirst);
  if (rounds)
    for (T &value : factor.values)
      value = T(tf32(float(value)));
  return factor;
}

template <typename T> static double dot(const T *a, const T *b, int64_t depth) {
  constexpr int ways = 16;
  T sums[ways] = {};
  int64_t k = 0;
  for (; k + ways <= depth; k += ways)
    for (int i = 0; i < ways; ++i)
      sums[i] += a[k + i] * b[k + i];
  double sum = 0;
  for (T it : sums)
    sum += double(it);
  for (; k < depth; ++k)
    sum += double(a[k]) * double(b[k]);
  return sum;
}

/// Sums have the type T.
template <typename T> static void computeIn(const Product &it) {
  const auto &[matrixA, matrixB, matrixC, matrixD] = it.matrices;
  auto a = factorOf<T>(matrixA, !it.transposesA, it.rounds),
       b = factorOf<T>(matrixB, it.transposesB, it.rounds);
  auto tensor = [](const Matrix &it, const char *loads, bool isLoaded) {
    return tensorOf<double>(it, isLoaded ? loads : nullptr);
  };
  auto c = tensor(matrixC, "adds a product to", it.beta != 0),
       bias = tensor(it.bias, "uses a bias of", it.does(Product::addsBias)),
       aux = tensor(it.aux, "uses aux of", it.does(Product::derives)),
       d = tensor(matrixD, "", false);
  int64_t depth = it.depth();
  for (int64_t z = 0; z < matrixD.batches; ++z) {
    for (int64_t i = 0; i < it.bias.rows && it.sumsOperand(); ++i)
      for (int64_t k = 0; k < depth; ++k)
        bias(0, 0, i) +=
            double(it.does(Product::sumsA) ? a(z, i, k) : b(z, i, k));
    for (int64_t j = 0; j < matrixD.columns; ++j)
      for (int64_t i = 0; i < matrixD.rows; ++i) {
        double sum = it.alpha * dot(&a(z, i, 0), &b(z, j, 0), depth);
        if (it.beta != 0)
          sum += it.beta * c(z, j, i);
        if (it.does(Product::addsBias))
          sum += bias(0, 0, i);
        if (it.writesAux())
          aux(0, j, i) = sum;
        if (it.does(Product::gelus))
          sum = gelu(sum);
        if (it.does(Product::derives))
          sum *= geluDerivative(aux(0, j, i));
        if (it.does(Product::sumsRows))
          bias(0, 0, i) += sum;
        d(z, j, i) = sum;
      }
  }
  d.store("writes a product to");
  if (it.writesBias())
    bias.store("uses a bias of");
  if (it.writesAux())
    aux.store("uses aux of");
}

void compute(const Product &it) {
  it.matrices[3].element == f64 ? computeIn<double>(it) : computeIn<float>(it);
}

} // namespace emulator
