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

#include "Memory.h"

#include <cstring>
#include <vector>

namespace emulator {

namespace {

double gelu(double x) {
  return 0.5 * x *
         (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
double geluDerivative(double x) {
  double inner = 0.7978845608028654 * (x + 0.044715 * x * x * x);
  double t = std::tanh(inner);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 *
                             (1 + 3 * 0.044715 * x * x);
}

/// Rounded to a mantissa of 10 bits, as a tensor core reads float32 (TF32).
float tf32(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
  return std::bit_cast<float>(bits);
}

/// The elements of a matrix, which this product writes or something has
/// written. Gaps between columns may be unwritten.
std::byte *open(const Matrix &it, bool writes, const char *what) {
  std::byte *first = memory().at(it.address, it.bytes(), what);
  int64_t size = sizeOf(it.element), bytes = it.rows * size;
  for (int64_t z = 0; z < it.batches; ++z)
    for (int64_t j = 0; j < it.columns; ++j) {
      uint64_t column = it.address + uint64_t(it.place(0, j, z) * size);
      if (writes)
        std::memset(memory().marks(column), 1, size_t(bytes));
      else
        memory().requireKnown(column, bytes, what);
    }
  return first;
}

/// The rows of op(A) or the columns of op(B), each contiguous.
template <typename T>
std::vector<T> packed(const Matrix &it, const std::byte *from, int64_t z,
                      bool alongRows, bool rounds) {
  int64_t lines = alongRows ? it.columns : it.rows;
  int64_t depth = alongRows ? it.rows : it.columns;
  std::vector<T> list;
  list.reserve(size_t(lines * depth));
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t k = 0; k < depth; ++k) {
      int64_t at = alongRows ? it.place(k, line, z) : it.place(line, k, z);
      auto value = T(read(from, it.element, at));
      list.push_back(rounds ? T(tf32(float(value))) : value);
    }
  return list;
}

template <typename T> double dot(const T *a, const T *b, int64_t depth) {
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
template <typename T> void computeIn(const Product &it) {
  const std::byte *a = open(it.a, false, "multiplies");
  const std::byte *b = open(it.b, false, "multiplies");
  const std::byte *c =
      it.beta != 0 ? open(it.c, false, "adds a product to") : nullptr;
  std::byte *d = open(it.d, true, "writes a product to");
  bool readsAux = it.does(Product::derives);
  std::byte *bias =
      it.hasBias() ? open(it.bias, it.writesBias(), "uses a bias of") : nullptr;
  std::byte *aux = it.does(Product::hasAux)
                       ? open(it.aux, !readsAux, "uses aux of")
                       : nullptr;
  int64_t depth = it.depth();
  for (int64_t z = 0; z < it.d.batches; ++z) {
    auto left = packed<T>(it.a, a, z, it.transposesA, it.rounds);
    auto right = packed<T>(it.b, b, z, !it.transposesB, it.rounds);
    std::vector<double> sums(size_t(it.bias.rows));
    if (it.does(Product::sumsA | Product::sumsB)) {
      const std::vector<T> &lines = it.does(Product::sumsA) ? left : right;
      for (size_t i = 0; i < sums.size(); ++i)
        for (size_t k = 0; k < size_t(depth); ++k)
          sums[i] += double(lines[i * size_t(depth) + k]);
    }
    for (int64_t j = 0; j < it.d.columns; ++j)
      for (int64_t i = 0; i < it.d.rows; ++i) {
        double sum = it.alpha * dot(&left[size_t(i * depth)],
                                    &right[size_t(j * depth)], depth);
        if (c)
          sum += it.beta * read(c, it.c.element, it.c.place(i, j, z));
        if (it.does(Product::addsBias))
          sum += read(bias, it.bias.element, i);
        if (aux && !readsAux)
          write(aux, it.aux.element, it.aux.place(i, j), sum);
        if (it.does(Product::gelus))
          sum = gelu(sum);
        if (readsAux)
          sum *= geluDerivative(read(aux, it.aux.element, it.aux.place(i, j)));
        if (it.does(Product::sumsRows))
          sums[size_t(i)] += sum;
        write(d, it.d.element, it.d.place(i, j, z), sum);
      }
    for (size_t i = 0; i < sums.size() && it.writesBias(); ++i)
      write(bias, it.bias.element, int64_t(i), sums[i]);
  }
}

} // namespace

void compute(const Product &it) {
  it.d.element == Element::F64 ? computeIn<double>(it) : computeIn<float>(it);
}

} // namespace emulator
