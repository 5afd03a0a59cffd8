//===- Comparisons.cpp - setp and selp of PTX -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

namespace emulator::ptx {

namespace {

/// `setp.lt.T p, a, b`: ordered comparisons are false for NaN.
template <typename T, typename Function>
void compare(Table &table, const std::string &name, Function) {
  using W =
      std::conditional_t<sizeof(T) == 2 && !std::is_integral_v<T>, float, T>;
  define<T>(table, "setp." + name,
            [](T a, T b) { return bool(Function()(W(a), W(b))); });
}

template <typename T> void orders(Table &table) {
  compare<T>(table, "eq", [](auto a, auto b) { return a == b; });
  compare<T>(table, "ne", [](auto a, auto b) { return a < b || a > b; });
  compare<T>(table, "lt", [](auto a, auto b) { return a < b; });
  compare<T>(table, "le", [](auto a, auto b) { return a <= b; });
  compare<T>(table, "gt", [](auto a, auto b) { return a > b; });
  compare<T>(table, "ge", [](auto a, auto b) { return a >= b; });
}

/// Unordered comparisons, which are true for NaN, and tests for NaN.
template <typename T> void unordered(Table &table) {
  compare<T>(table, "equ", [](auto a, auto b) { return !(a < b || a > b); });
  compare<T>(table, "neu", [](auto a, auto b) { return !(a == b); });
  compare<T>(table, "ltu", [](auto a, auto b) { return !(a >= b); });
  compare<T>(table, "leu", [](auto a, auto b) { return !(a > b); });
  compare<T>(table, "gtu", [](auto a, auto b) { return !(a <= b); });
  compare<T>(table, "geu", [](auto a, auto b) { return !(a < b); });
  compare<T>(table, "num", [](auto a, auto b) { return a == a && b == b; });
  compare<T>(table, "nan", [](auto a, auto b) { return a != a || b != b; });
}

template <typename... Types> void all(Table &table) {
  (orders<Types>(table), ...);
  // Comparisons of unsigned numbers also have names of their own.
  for (auto [other, same] : {std::pair("lo", "lt"), std::pair("ls", "le"),
                             std::pair("hi", "gt"), std::pair("hs", "ge")})
    for (const char *type : {"u16", "u32", "u64"})
      table["setp." + std::string(other) + "." + type] =
          table.at("setp." + std::string(same) + "." + type);
}

} // namespace

void defineComparisons(Table &table) {
  all<uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float, double,
      Bfloat16, Half>(table);
  unordered<float>(table);
  unordered<double>(table);
  unordered<Bfloat16>(table);
  unordered<Half>(table);
  for (const char *type : {"b16", "u16", "s16", "b32", "u32", "s32", "f32",
                           "b64", "u64", "s64", "f64"})
    table[std::string("selp.") + type] = handler<uint64_t>(
        [](uint64_t a, uint64_t b, bool c) { return c ? a : b; });
}

} // namespace emulator::ptx
