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

template <typename D, typename S> void add(Table &table) {
  auto with = [&]<typename Round>(const char *mode, Round) {
    for (const char *to : Word<D>::names)
      for (const char *from : Word<S>::names)
        table[std::string(mode) + to + "." + from] =
            handler<D>([](S a) { return converted<D, S, Round{}>(a); });
  };
  constexpr bool isRounded = !isInteger<S>;
  if constexpr (!(isInteger<D> && isRounded))
    for (const char *mode : {"", "rn."})
      with(mode, [](double it) { return it; });
  if constexpr (isRounded) {
    with("rni.", [](double it) { return std::nearbyint(it); });
    with("rzi.", [](double it) { return std::trunc(it); });
    with("rmi.", [](double it) { return std::floor(it); });
    with("rpi.", [](double it) { return std::ceil(it); });
  }
}

template <typename D, typename... Sources> void addFrom(Table &table) {
  (add<D, Sources>(table), ...);
}
template <typename... Types> void addAll(Table &table) {
  (addFrom<Types, Types...>(table), ...);
}

/// Packs two numbers into one register, the first into the upper half.
template <typename T> Handler packs() {
  return handler<uint64_t>([](float a, float b) {
    return put(T(a)) << (8 * sizeof(T)) | put(T(b));
  });
}

/// Defines conversions between pairs of 8-bit floats and of others.
template <typename T> void addNarrow(Table &table, const std::string &name) {
  table["rn.satfinite." + name + ".f32"] = packs<T>();
  table["rn.satfinite." + name + ".f16x2"] =
      handler<uint64_t>([](Pair<Half> a) {
        return put(T(float(a.high))) << 8 | put(T(float(a.low)));
      });
  table["rn.f16x2." + name] = handler<uint64_t>([](uint16_t a) {
    auto half = [](int byte) {
      return put(Half(float(std::bit_cast<T>(uint8_t(byte)))));
    };
    return half(a >> 8) << 16 | half(a);
  });
}

} // namespace

void defineConversions(Table &table) {
  addAll<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t,
         int64_t, float, double, Bfloat16, Half>(table);
  table["rn.bf16x2.f32"] = packs<Bfloat16>();
  table["rn.f16x2.f32"] = packs<Half>();
  addNarrow<E4M3>(table, "e4m3x2");
  addNarrow<E5M2>(table, "e5m2x2");
}

Handler handlerOf(const std::vector<std::string> &words) {
  static const auto tables = [] {
    std::array<Table, 2> both; // Of cvt, and of all others.
    defineConversions(both[0]);
    defineIntegers(both[1]);
    defineFloats(both[1]);
    defineComparisons(both[1]);
    return both;
  }();
  bool converts = words[0] == "cvt";
  // Only rounding to nearest is supported. ftz is ignored: it affects only
  // numbers below 2^-126.
  constexpr std::string_view ignored[] = {"ftz", "rn", "approx", "full"};
  auto isIgnored = [&](const std::string &word) {
    auto end = converts ? std::begin(ignored) + 1 : std::end(ignored);
    return std::find(std::begin(ignored), end, word) != end;
  };
  std::string name;
  for (const std::string &word : std::span(words).subspan(converts ? 1 : 0))
    if (!isIgnored(word))
      name += (name.empty() ? "" : ".") + word;
  const Table &table = tables[converts ? 0 : 1];
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

} // namespace emulator::ptx
