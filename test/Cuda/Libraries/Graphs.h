//===- Graphs.h - attention and convolutions --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_LIBRARIES_GRAPHS_H
#define STAGEWRIGHT_TEST_CUDA_LIBRARIES_GRAPHS_H

#include "Memory.h"
#include "Numbers.h"
#include "stagewright-rt/device.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

namespace emulator {

/// Of an attention: q, k, v, o, stats (0: not computed), d_o, d_q, d_k, d_v,
/// bias. Of a convolution: x, w, y.
using Addresses = std::vector<uint64_t>;

void compute(const sw_attention_desc &desc, const Addresses &operands);
void computeGradient(const sw_attention_desc &desc, const Addresses &operands);
/// Writes the operand that `desc` names.
void compute(const sw_convolve_desc &desc, const Addresses &operands);

/// An array with strides in device memory.
template <size_t rank> class Tensor {
public:
  using Indices = std::array<int64_t, rank>;

  Tensor(uint64_t address, Element element, const int64_t *given)
      : address(address), element(element) {
    std::copy_n(given, rank, strides.begin());
  }

  double operator()(const Indices &indices) const {
    uint64_t at = addressOf(indices);
    const std::byte *from = memory().at(at, sizeOf(element), "a graph reads");
    memory().requireKnown(at, sizeOf(element), "a graph reads");
    return read(from, element, 0);
  }
  void set(const Indices &indices, double value) const {
    uint64_t at = addressOf(indices);
    std::byte *to = memory().at(at, sizeOf(element), "a graph writes");
    write(to, element, 0, value);
    std::fill_n(memory().marks(at), sizeOf(element), uint8_t(1));
  }

  /// Adds to a sum, which `finish` writes.
  void add(const Indices &indices, double value) { sums[indices] += value; }
  void finish() const {
    for (auto &[indices, sum] : sums)
      set(indices, sum);
  }

private:
  uint64_t addressOf(const Indices &indices) const {
    int64_t offset = 0;
    for (size_t i = 0; i < rank; ++i)
      offset += indices[i] * strides[i];
    return address + uint64_t(offset * sizeOf(element));
  }

  uint64_t address;
  Element element;
  std::array<int64_t, rank> strides;
  std::map<Indices, double> sums;
};

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_LIBRARIES_GRAPHS_H
