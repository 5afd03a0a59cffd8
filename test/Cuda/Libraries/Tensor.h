//===- Tensor.h - arrays in device memory -----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_LIBRARIES_TENSOR_H
#define STAGEWRIGHT_TEST_CUDA_LIBRARIES_TENSOR_H

#include "Floats.h"
#include "Memory.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <vector>

namespace emulator {

/// An element type of the libraries, each of which numbers them differently.
struct Element {
  int64_t size; ///< bytes
  double (*read)(const std::byte *);
  void (*write)(std::byte *, double);
};
template <typename T>
constexpr Element elementOf = {
    sizeof(T),
    [](const std::byte *at) {
      T value;
      std::memcpy(&value, at, sizeof(T));
      return double(value);
    },
    [](std::byte *at, double given) {
      auto value = T(std::conditional_t<sizeof(T) == 8, T, float>(given));
      std::memcpy(at, &value, sizeof(T));
    }};
inline constexpr Element elements[] = {elementOf<float>, elementOf<double>,
                                       elementOf<Half>,  elementOf<Bfloat16>,
                                       elementOf<E4M3>,  elementOf<E5M2>};
constexpr const Element *f32 = elements, *f64 = elements + 1,
                        *e5m2 = elements + 5;

/// The element type that a library calls `type`; `types` are its numbers in the
/// order of `elements`. Null if it is not among them.
inline const Element *elementIn(std::initializer_list<int> types, int type) {
  const int *found = std::find(types.begin(), types.end(), type);
  return found == types.end() ? nullptr : &elements[found - types.begin()];
}

/// Calls `function` for all indices within `extents`.
template <size_t rank, typename Function, typename... Outer>
void forAll(const int64_t (&extents)[rank], Function &&function,
            Outer... outer) {
  if constexpr (sizeof...(outer) == rank)
    function(outer...);
  else
    for (int64_t i = 0; i < extents[sizeof...(outer)]; ++i)
      forAll(extents, function, outer..., i);
}

/// Numbers by up to five indices, of which the last is the innermost: zeros, or
/// copied from an array in device memory, or to be copied there.
template <typename T> class Tensor {
public:
  /// `strides` counts elements of the array, one number for each extent. Loads
  /// the array if `loads`, a verb for errors, is given; throws `Violation` if
  /// an element is not allocated or not written.
  explicit Tensor(std::initializer_list<int64_t> shape, uint64_t address = 0,
                  const Element *element = f32,
                  const int64_t *strides = nullptr, const char *loads = nullptr)
      : address(address), element(element) {
    std::copy(shape.begin(), shape.end(), extents);
    if (strides)
      std::copy_n(strides, shape.size(), this->strides);
    values.resize(size_t(std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                         std::multiplies<>())));
    if (!loads)
      return;
    Place from = content(loads);
    forElements([&](T &value, int64_t at) {
      memory().requireKnown(address + uint64_t(at), element->size, loads);
      value = T(element->read(from.bytes + at));
    });
  }

  template <typename... Indices> T &operator()(Indices... indices) {
    int64_t at = 0;
    size_t dimension = 0;
    ((at = at * extents[dimension++] + indices), ...);
    return values[size_t(at)];
  }

  /// Copies to device memory; throws `Violation` if it is not allocated.
  void store(const char *what) {
    Place to = content(what);
    forElements([&](T &value, int64_t at) {
      element->write(to.bytes + at, double(value));
      std::fill_n(to.marks + at, element->size, uint8_t(1));
    });
  }

  std::vector<T> values;

private:
  /// Calls `function` with each value and the place of its bytes.
  template <typename Function> void forElements(Function function) {
    T *value = values.data();
    forAll(extents, [&](auto... indices) {
      const int64_t list[] = {indices...};
      function(*value++, element->size * std::inner_product(
                                             std::begin(list), std::end(list),
                                             strides, int64_t(0)));
    });
  }
  /// The content of device memory from the first to the last element.
  Place content(const char *what) const {
    int64_t last = 0;
    for (size_t i = 0; i < std::size(extents); ++i)
      last += (extents[i] - 1) * strides[i];
    return memory().at(address, (last + 1) * element->size, what);
  }

  uint64_t address;
  const Element *element;
  int64_t extents[5] = {1, 1, 1, 1, 1}, strides[5] = {};
};

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_LIBRARIES_TENSOR_H
