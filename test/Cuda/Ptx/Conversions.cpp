//===- Conversions.cpp - cvt of PTX ---------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace emulator::ptx {

namespace {

template <typename T> constexpr bool isInteger = std::is_integral_v<T>;

/// A float is first rounded to an integer by `round`, or not at all. Floats
/// outside the range of an integer saturate; NaN becomes 0.
template <typename D, typename S, auto round> D converted(S value) {
  if constexpr (isInteger<D> && isInteger<S>) {
    return D(value);
  } else if constexpr (isInteger<D>) {
    double number = round(double(value));
    if (std::isnan(number))
      return 0;
    if (number < double(std::numeric_limits<D>::min()))
      return std::numeric_limits<D>::min();
    if (number >= std::ldexp(1.0, std::numeric_limits<D>::digits))
      return std::numeric_limits<D>::max();
    return D(number);
  } else if constexpr (isInteger<S>) {
    if constexpr (sizeof(D) == 2)
      return D(float(value)); // Exact up to 2048 (f16) or 256 (bf16).
    else
      return D(value);
  } else {
    double number = round(double(value));
    if constexpr (sizeof(D) == 2)
      return D(float(number));
    else
      return D(number);
  }
}

template <typename D, typename S, auto round> void computes(Lanes &it) {
  forLanes(it, [](uint64_t a, auto...) {
    return put<D>(converted<D, S, round>(get<S>(a)));
  });
}

template <typename D, typename S> void add(Table &table) {
  auto with = [&](const char *mode, Handler handler) {
    for (const char *to : Word<D>::names)
      for (const char *from : Word<S>::names)
        table[std::string(mode) + to + "." + from] = handler;
  };
  constexpr bool needsMode = !isInteger<S>;
  if constexpr (!(isInteger<D> && needsMode)) {
    for (const char *mode : {"", "rn."})
      with(mode, computes<D, S, [](double it) { return it; }>);
  }
  if constexpr (needsMode) {
    with("rni.", computes<D, S, [](double it) { return std::nearbyint(it); }>);
    with("rzi.", computes<D, S, [](double it) { return std::trunc(it); }>);
    with("rmi.", computes<D, S, [](double it) { return std::floor(it); }>);
    with("rpi.", computes<D, S, [](double it) { return std::ceil(it); }>);
  }
}

template <typename D, typename... Sources> void addFrom(Table &table) {
  (add<D, Sources>(table), ...);
}
template <typename... Types> void addAll(Table &table) {
  (addFrom<Types, Types...>(table), ...);
}

/// Packs two numbers into one register, the first into the upper half.
template <typename T> void packs(Lanes &it) {
  forLanes(it, [](uint64_t a, uint64_t b, auto...) {
    return put(T(get<float>(a))) << (8 * sizeof(T)) | put(T(get<float>(b)));
  });
}
template <typename T> void unpacks(Lanes &it) {
  forLanes(it, [](uint64_t a, auto...) {
    auto half = [&](int shift) {
      return put(Half(float(std::bit_cast<T>(uint8_t(a >> shift)))));
    };
    return half(8) << 16 | half(0);
  });
}
template <typename T> void packsHalves(Lanes &it) {
  forLanes(it, [](uint64_t a, auto...) {
    auto byte = [&](int shift) { return put(T(float(get<Half>(a >> shift)))); };
    return byte(16) << 8 | byte(0);
  });
}

Table makeTable() {
  Table table;
  addAll<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t,
         int64_t, float, double, Bfloat16, Half>(table);
  table["rn.bf16x2.f32"] = packs<Bfloat16>;
  table["rn.f16x2.f32"] = packs<Half>;
  table["rn.satfinite.e4m3x2.f32"] = packs<E4M3>;
  table["rn.satfinite.e5m2x2.f32"] = packs<E5M2>;
  table["rn.satfinite.e4m3x2.f16x2"] = packsHalves<E4M3>;
  table["rn.satfinite.e5m2x2.f16x2"] = packsHalves<E5M2>;
  table["rn.f16x2.e4m3x2"] = unpacks<E4M3>;
  table["rn.f16x2.e5m2x2"] = unpacks<E5M2>;
  return table;
}

} // namespace

Handler conversionOf(const std::vector<std::string> &words) {
  static const Table table = makeTable();
  std::string name;
  for (size_t i = 1; i < words.size(); ++i)
    if (words[i] != "ftz")
      name += (name.empty() ? "" : ".") + words[i];
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

Handler handlerOf(const std::vector<std::string> &words) {
  static const Table table = [] {
    Table it;
    defineIntegers(it);
    defineFloats(it);
    defineComparisons(it);
    return it;
  }();
  if (words[0] == "cvt")
    return conversionOf(words);
  // Only rounding to nearest is supported. ftz is ignored: it affects only
  // numbers below 2^-126.
  constexpr std::string_view ignored[] = {"rn", "approx", "full", "ftz"};
  std::string name = words[0];
  for (size_t i = 1; i < words.size(); ++i)
    if (std::find(std::begin(ignored), std::end(ignored), words[i]) ==
        std::end(ignored))
      name += "." + words[i];
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

} // namespace emulator::ptx
