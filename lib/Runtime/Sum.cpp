//===- Sum.cpp - elementwise sums over ranks ------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sum.h"

#include "DType.h"
#include "Elements.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

namespace stagewright::runtime {

namespace {

/// Elements that are added at a time: their sums stay in the L1 cache.
constexpr int64_t strip = 1024;

/// Elements that are added in the type they are stored in. Integers are
/// unsigned, so that overflow wraps.
template <typename T> struct Plain {
  using Stored = T;
  using Added = T;
  static T load(const T *from, int64_t i) { return from[i]; }
  static void store(T *to, int64_t i, T value) { to[i] = value; }
};

/// bfloat16: the upper half of a float32, rounded to nearest, ties to even.
struct BFloat16 {
  using Stored = uint16_t;
  using Added = float;
  static float load(const uint16_t *from, int64_t i) {
    return std::bit_cast<float>(uint32_t(from[i]) << 16);
  }
  static void store(uint16_t *to, int64_t i, float value) {
    auto bits = std::bit_cast<uint32_t>(value);
    uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
    to[i] = uint16_t((std::isnan(value) ? bits | 0x400000 : rounded) >> 16);
  }
};

struct Half {
  using Stored = uint16_t;
  using Added = float;
  static float load(const uint16_t *from, int64_t i) {
    return float(readElement(from, SW_F16, i));
  }
  static void store(uint16_t *to, int64_t i, float value) {
    writeElement(to, SW_F16, i, value);
  }
};

template <typename Element>
void add(std::span<std::byte *const> arrays, int64_t begin, int64_t end) {
  using Stored = typename Element::Stored;
  typename Element::Added sums[strip];
  for (int64_t at = begin; at < end; at += strip) {
    int64_t count = std::min(strip, end - at);
    auto *first = reinterpret_cast<const Stored *>(arrays[0]) + at;
    for (int64_t i = 0; i < count; ++i)
      sums[i] = Element::load(first, i);
    for (std::byte *array : arrays.subspan(1)) {
      auto *from = reinterpret_cast<const Stored *>(array) + at;
      for (int64_t i = 0; i < count; ++i)
        sums[i] += Element::load(from, i);
    }
    for (std::byte *array : arrays) {
      auto *to = reinterpret_cast<Stored *>(array) + at;
      for (int64_t i = 0; i < count; ++i)
        Element::store(to, i, sums[i]);
    }
  }
}

template <typename Element>
void addInto(void *to, const void *from, int64_t count) {
  using Stored = typename Element::Stored;
  using Added = typename Element::Added;
  auto *sums = static_cast<Stored *>(to);
  auto *terms = static_cast<const Stored *>(from);
  for (int64_t i = 0; i < count; ++i)
    Element::store(sums, i,
                   Added(Element::load(sums, i) + Element::load(terms, i)));
}

/// Small integers would be multiplied as signed ones, which may not overflow.
template <typename T> T product(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return T(std::common_type_t<T, unsigned>(a) * b);
  else
    return a * b;
}

template <typename Element>
void addWeighted(void *to, std::span<const Term> terms, int64_t count) {
  using Stored = typename Element::Stored;
  using Added = typename Element::Added;
  Added sums[strip];
  for (int64_t at = 0; at < count; at += strip) {
    int64_t size = std::min(strip, count - at);
    std::fill_n(sums, size, Added(0));
    for (const Term &term : terms) {
      auto *from = static_cast<const Stored *>(term.from) + at;
      auto weight = Added(term.weight);
      for (int64_t i = 0; i < size; ++i)
        sums[i] += product(weight, Element::load(from, i));
    }
    for (int64_t i = 0; i < size; ++i)
      Element::store(static_cast<Stored *>(to) + at, i, sums[i]);
  }
}

/// The ways of adding.
struct Adder {
  void (*toAll)(std::span<std::byte *const>, int64_t, int64_t) = nullptr;
  void (*into)(void *, const void *, int64_t) = nullptr;
  void (*weighted)(void *, std::span<const Term>, int64_t) = nullptr;
};

template <typename Element> constexpr Adder adder() {
  return {add<Element>, addInto<Element>, addWeighted<Element>};
}

Adder adderOf(sw_dtype dtype) {
  switch (dtype) {
  case SW_F32:
    return adder<Plain<float>>();
  case SW_F64:
    return adder<Plain<double>>();
  case SW_F16:
    return adder<Half>();
  case SW_BF16:
    return adder<BFloat16>();
  case SW_I8:
  case SW_U8:
    return adder<Plain<uint8_t>>();
  case SW_I16:
  case SW_U16:
    return adder<Plain<uint16_t>>();
  case SW_I32:
  case SW_U32:
    return adder<Plain<uint32_t>>();
  case SW_I64:
  case SW_U64:
    return adder<Plain<uint64_t>>();
  case SW_BOOL:
  case SW_F8E4M3FN: // not summed in 8 bits
  case SW_F8E5M2:
    break;
  }
  return {};
}

Adder required(sw_dtype dtype) {
  if (!canSum(dtype))
    raise("numbers of type ", dtypeName(dtype), " have no sum over ranks");
  return adderOf(dtype);
}

} // namespace

bool canSum(sw_dtype dtype) { return adderOf(dtype).toAll != nullptr; }

void sumToAll(sw_dtype dtype, std::span<std::byte *const> arrays, int64_t begin,
              int64_t end) {
  required(dtype).toAll(arrays, begin, end);
}

void sumInto(sw_dtype dtype, void *to, const void *from, int64_t count) {
  required(dtype).into(to, from, count);
}

void weightedSum(sw_dtype dtype, void *to, std::span<const Term> terms,
                 int64_t count) {
  required(dtype).weighted(to, terms, count);
}

} // namespace stagewright::runtime
