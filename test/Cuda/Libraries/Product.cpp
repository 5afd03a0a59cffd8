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

/// The elements of a matrix; throws `Violation` if one was never written.
std::byte *known(const Matrix &matrix, const char *what) {
  std::byte *first = memory().at(matrix.address, matrix.bytes(), what);
  for (int64_t b = 0; b < matrix.batches; ++b)
    for (int64_t c = 0; c < matrix.columns; ++c)
      memory().requireKnown(matrix.address +
                                uint64_t((b * matrix.batch + c * matrix.row) *
                                         sizeOf(matrix.element)),
                            matrix.rows * sizeOf(matrix.element), what);
  return first;
}

std::byte *vectorAt(uint64_t address, int64_t elements, Element element,
                    bool reads, const char *what) {
  int64_t bytes = elements * sizeOf(element);
  std::byte *found = memory().at(address, bytes, what);
  if (reads)
    memory().requireKnown(address, bytes, what);
  else
    std::memset(memory().marks(address), 1, size_t(bytes));
  return found;
}

/// The rows of op(A) or the columns of op(B), each contiguous.
std::vector<float> packed(const Matrix &it, const std::byte *from,
                          bool alongRows, bool rounds) {
  int64_t lines = alongRows ? it.columns : it.rows;
  int64_t depth = alongRows ? it.rows : it.columns;
  std::vector<float> list(size_t(lines * depth));
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t k = 0; k < depth; ++k) {
      int64_t at = alongRows ? k + line * it.row : line + k * it.row;
      auto value = float(read(from, it.element, at));
      list[size_t(line * depth + k)] = rounds ? tf32(value) : value;
    }
  return list;
}

double dot(const float *a, const float *b, int64_t depth) {
  constexpr int ways = 16;
  float sums[ways] = {};
  int64_t k = 0;
  for (; k + ways <= depth; k += ways)
    for (int i = 0; i < ways; ++i)
      sums[i] += a[k + i] * b[k + i];
  double sum = 0;
  for (float it : sums)
    sum += double(it);
  for (; k < depth; ++k)
    sum += double(a[k]) * double(b[k]);
  return sum;
}

/// The product of operands in double precision.
void computeWide(const Product &it, const std::byte *a, const std::byte *b,
                 const std::byte *c, std::byte *d) {
  for (int64_t j = 0; j < it.d.columns; ++j)
    for (int64_t i = 0; i < it.d.rows; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < it.depth(); ++k)
        sum += read(a, it.a.element,
                    it.transposesA ? k + i * it.a.row : i + k * it.a.row) *
               read(b, it.b.element,
                    it.transposesB ? j + k * it.b.row : k + j * it.b.row);
      int64_t at = i + j * it.d.row;
      sum *= it.alpha;
      if (it.beta != 0)
        sum += it.beta * read(c, it.c.element, i + j * it.c.row);
      write(d, it.d.element, at, sum);
    }
}

class Finish {
public:
  Finish(const Product &product, const std::vector<float> &a,
         const std::vector<float> &b)
      : it(product) {
    int64_t m = it.d.rows, n = it.d.columns, depth = it.depth();
    bool perColumn = it.epilogue == epilogueSumB;
    if (it.readsBias() || it.writesBias())
      bias = vectorAt(it.bias, perColumn ? n : m, it.biasElement,
                      it.readsBias(), "uses a bias of");
    int64_t size = sizeOf(it.auxElement);
    if (it.readsAux() || it.writesAux())
      aux =
          memory().at(it.aux, ((n - 1) * it.auxRow + m) * size, "uses aux of");
    for (int64_t j = 0; aux && j < n; ++j) // Not the gaps between columns.
      vectorAt(it.aux + uint64_t(j * it.auxRow * size), m, it.auxElement,
               it.readsAux(), "uses aux of");
    sums.assign(size_t(it.writesBias() ? m : 0), 0);
    if (it.epilogue == epilogueSumA || perColumn)
      for (int64_t i = 0; i < (perColumn ? n : m); ++i) {
        const float *line = (perColumn ? b : a).data() + i * depth;
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k)
          sum += double(line[k]);
        write(bias, it.biasElement, i, sum);
      }
  }

  double operator()(int64_t i, int64_t j, double sum) {
    if (it.readsBias())
      sum += read(bias, it.biasElement, i);
    if (it.writesAux())
      write(aux, it.auxElement, i + j * it.auxRow, sum);
    switch (it.epilogue) {
    case epilogueGelu:
    case epilogueGeluBias:
    case epilogueGeluAux:
    case epilogueGeluAuxBias:
      return gelu(sum);
    case epilogueDgelu:
    case epilogueDgeluBias:
      sum *= geluDerivative(read(aux, it.auxElement, i + j * it.auxRow));
      if (!sums.empty())
        sums[size_t(i)] += sum;
      return sum;
    default:
      return sum;
    }
  }

  ~Finish() {
    if (it.epilogue == epilogueDgeluBias)
      for (size_t i = 0; i < sums.size(); ++i)
        write(bias, it.biasElement, int64_t(i), sums[i]);
  }

private:
  const Product &it;
  std::byte *bias = nullptr, *aux = nullptr;
  std::vector<double> sums; ///< of the rows of D
};

} // namespace

void compute(const Product &product) {
  const Product &it = product;
  const std::byte *allA = known(it.a, "multiplies");
  const std::byte *allB = known(it.b, "multiplies");
  const std::byte *allC =
      it.beta != 0 ? known(it.c, "adds a product to") : nullptr;
  std::byte *allD =
      memory().at(it.d.address, it.d.bytes(), "writes a product to");
  for (int64_t z = 0; z < it.d.batches; ++z) {
    const std::byte *a = allA + z * it.a.batch * sizeOf(it.a.element);
    const std::byte *b = allB + z * it.b.batch * sizeOf(it.b.element);
    const std::byte *c =
        allC ? allC + z * it.c.batch * sizeOf(it.c.element) : nullptr;
    int64_t offset = z * it.d.batch * sizeOf(it.d.element);
    std::byte *d = allD + offset;
    for (int64_t j = 0; j < it.d.columns; ++j)
      std::memset(memory().marks(it.d.address) + offset +
                      j * it.d.row * sizeOf(it.d.element),
                  1, size_t(it.d.rows * sizeOf(it.d.element)));
    if (it.d.element == Element::F64) {
      computeWide(it, a, b, c, d);
      continue;
    }
    std::vector<float> left = packed(it.a, a, it.transposesA, it.rounds);
    std::vector<float> right = packed(it.b, b, !it.transposesB, it.rounds);
    int64_t depth = it.depth();
    Finish finish(it, left, right);
    for (int64_t j = 0; j < it.d.columns; ++j)
      for (int64_t i = 0; i < it.d.rows; ++i) {
        double sum = it.alpha * dot(&left[size_t(i * depth)],
                                    &right[size_t(j * depth)], depth);
        int64_t at = i + j * it.d.row;
        if (it.beta != 0)
          sum += it.beta * read(c, it.c.element, i + j * it.c.row);
        write(d, it.d.element, at, finish(i, j, sum));
      }
  }
}

} // namespace emulator
