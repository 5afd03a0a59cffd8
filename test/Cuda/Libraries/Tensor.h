//===- Tensor.h - an array with strides in device memory --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_LIBRARIES_TENSOR_H
#define STAGEWRIGHT_TEST_CUDA_LIBRARIES_TENSOR_H

#include "Memory.h"
#include "Numbers.h"

#include <algorithm>
#include <array>
#include <string>

namespace emulator {

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
};

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_LIBRARIES_TENSOR_H
