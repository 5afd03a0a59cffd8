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

struct Type {
  int64_t size;
  double (*read)(const std::byte *);
  void (*write)(std::byte *, double);
};
template <typename T>
constexpr Type typeOf = {sizeof(T),
                         [](const std::byte *at) {
                           T value;
                           std::memcpy(&value, at, sizeof(T));
                           return double(value);
                         },
                         [](std::byte *at, double given) {
                           using Wide =
                               std::conditional_t<sizeof(T) == 8, T, float>;
                           auto value = T(Wide(given));
                           std::memcpy(at, &value, sizeof(T));
                         }};
/// In the order of `Element`.
constexpr Type types[] = {typeOf<float>,    typeOf<double>, typeOf<Half>,
                          typeOf<Bfloat16>, typeOf<E4M3>,   typeOf<E5M2>};
const Type &at(Element element) { return types[size_t(element)]; }

} // namespace

std::optional<Element> elementIn(std::initializer_list<int> types, int type) {
  const int *found = std::find(types.begin(), types.end(), type);
  return found == types.end() ? std::nullopt
                              : std::optional(Element(found - types.begin()));
}

Element elementOfRuntime(int32_t dtype) {
  return elementIn({SW_F32, SW_F64, SW_F16, SW_BF16}, dtype).value();
}

int64_t sizeOf(Element element) { return at(element).size; }

double read(const std::byte *array, Element element, int64_t index) {
  return at(element).read(array + index * sizeOf(element));
}

void write(std::byte *array, Element element, int64_t index, double value) {
  at(element).write(array + index * sizeOf(element), value);
}

} // namespace emulator
