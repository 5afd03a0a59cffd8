//===- Tensor.cpp - arrays in device memory -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tensor.h"

#include "Floats.h"
#include "stagewright-rt/runtime.h"

namespace emulator {

template <typename T>
constexpr Element elementOf = {
    sizeof(T),
    [](const std::byte *at) {
      T value;
      std::memcpy(&value, at, sizeof(T));
      return double(value);
    },
    [](std::byte *at, double given) {
      using Wide = std::conditional_t<sizeof(T) == 8, T, float>;
      auto value = T(Wide(given));
      std::memcpy(at, &value, sizeof(T));
    }};
const Element elements[] = {elementOf<float>, elementOf<double>,
                            elementOf<Half>,  elementOf<Bfloat16>,
                            elementOf<E4M3>,  elementOf<E5M2>};

const Element *elementIn(std::initializer_list<int> types, int type) {
  const int *found = std::find(types.begin(), types.end(), type);
  return found == types.end() ? nullptr : &elements[found - types.begin()];
}

const Element *elementOfRuntime(int32_t dtype) {
  return elementIn({SW_F32, SW_F64, SW_F16, SW_BF16}, dtype);
}

} // namespace emulator
