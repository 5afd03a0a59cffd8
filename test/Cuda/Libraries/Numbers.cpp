//===- Numbers.cpp - elements of a device's arrays ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Numbers.h"

#include "stagewright-rt/runtime.h"

#include <cstring>

namespace emulator {

namespace {

template <typename Function> auto withType(Element element, Function function) {
  switch (element) {
  case Element::F32:
    return function(float());
  case Element::F64:
    return function(double());
  case Element::F16:
    return function(Half());
  case Element::BF16:
    return function(Bfloat16());
  case Element::E4M3:
    return function(E4M3());
  case Element::E5M2:
    return function(E5M2());
  }
  return function(float());
}

} // namespace

std::optional<Element> elementIn(std::initializer_list<int> types, int type) {
  const int *found = std::find(types.begin(), types.end(), type);
  return found == types.end() ? std::nullopt
                              : std::optional(Element(found - types.begin()));
}

Element elementOfRuntime(int32_t dtype) {
  return elementIn({SW_F32, SW_F64, SW_F16, SW_BF16}, dtype).value();
}

int64_t sizeOf(Element element) {
  return withType(element, [](auto it) { return int64_t(sizeof(it)); });
}

double read(const std::byte *array, Element element, int64_t index) {
  return withType(element, [&](auto it) {
    std::memcpy(&it, array + index * int64_t(sizeof(it)), sizeof(it));
    return double(it);
  });
}

void write(std::byte *array, Element element, int64_t index, double value) {
  withType(element, [&](auto it) {
    using T = decltype(it);
    if constexpr (sizeof(T) == 8)
      it = value;
    else
      it = T(float(value));
    std::memcpy(array + index * int64_t(sizeof(it)), &it, sizeof(it));
    return 0;
  });
}

} // namespace emulator
