//===- Floats.cpp - PTX on floating-point numbers -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 16-bit sums and products are computed in double precision and rounded through
// float32. The result has the device's bits: for a sum or product of 11-bit
// numbers, rounding first to the 24 bits of float32 changes nothing.
// Approximations (ex2, lg2, tanh and so on) use the C library: a device's last
// bits differ.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include <cfenv>

namespace emulator::ptx {

template <typename T>
using Exact = std::conditional_t<sizeof(T) == 2, double, T>;

/// Max, or min if `smaller`, as on a device: a NaN is returned or ignored
/// (`keepsNan`), and -0 is less than 0.
template <typename E> static E larger(E a, E b, bool keepsNan, bool smaller) {
  if (std::isnan(a) || std::isnan(b)) {
    if (keepsNan)
      return std::numeric_limits<E>::quiet_NaN();
    return std::isnan(a) ? b : a;
  }
  bool below = a < b || (a == b && std::signbit(a));
  return below == smaller ? a : b;
}

/// Defines functions computed in `Exact<T>`, also for each half of packed
/// numbers.
template <typename T> static void defineFor(Table &table) {
  using E = Exact<T>;
  auto add = [&]<typename Function>(const char *name, Function) {
    using Rounded = std::conditional_t<sizeof(T) == 2, float, T>;
    auto one = [](T a, T b, T c) {
      return T(Rounded(Function()(E(a), E(b), E(c))));
    };
    define<T>(table, name, one);
    if constexpr (sizeof(T) == 2)
      define<Pair<T>>(table, name, [](Pair<T> a, Pair<T> b, Pair<T> c) {
        decltype(one) f;
        return Pair<T>{f(a.low, b.low, c.low), f(a.high, b.high, c.high)};
      });
  };
  add("add", [](E a, E b, E) { return a + b; });
  add("sub", [](E a, E b, E) { return a - b; });
  add("mul", [](E a, E b, E) { return a * b; });
  add("div", [](E a, E b, E) { return a / b; });
  add("fma", [](E a, E b, E c) { return std::fma(a, b, c); });
  add("neg", [](E a, E, E) { return -a; });
  add("abs", [](E a, E, E) { return std::fabs(a); });
  add("max", [](E a, E b, E) { return larger(a, b, false, false); });
  add("min", [](E a, E b, E) { return larger(a, b, false, true); });
  add("max.NaN", [](E a, E b, E) { return larger(a, b, true, false); });
  add("min.NaN", [](E a, E b, E) { return larger(a, b, true, true); });
  if constexpr (sizeof(T) == 2)
    return;
  add("rcp", [](E a, E, E) { return 1 / a; });
  add("sqrt", [](E a, E, E) { return std::sqrt(a); });
  add("rsqrt", [](E a, E, E) { return E(1 / std::sqrt(double(a))); });
  add("copysign", [](E sign, E a, E) { return std::copysign(a, sign); });
}

/// Defines a function whose result is rounded toward zero, as ".rz" does.
/// Through volatile variables, which the compiler does not move over a change
/// of the mode.
template <typename Function>
static void addTruncated(Table &table, const char *name, Function) {
  define<float>(table, name, [](float a, float b, float c) {
    volatile float x = a, y = b, z = c;
    int before = std::fegetround();
    std::fesetround(FE_TOWARDZERO);
    volatile float result = Function()(x, y, z);
    std::fesetround(before);
    return float(result);
  });
}

void defineFloats(Table &table) {
  defineFor<float>(table);
  defineFor<double>(table);
  defineFor<Bfloat16>(table);
  defineFor<Half>(table);
  using F = float;
  addTruncated(table, "add.rz", [](F a, F b, F) { return a + b; });
  addTruncated(table, "mul.rz", [](F a, F b, F) { return a * b; });
  addTruncated(table, "fma.rz",
               [](F a, F b, F c) { return std::fma(a, b, c); });
  define<float>(table, "ex2", [](float a) { return std::exp2(a); });
  define<float>(table, "lg2", [](float a) { return std::log2(a); });
  define<float>(table, "sin", [](float a) { return std::sin(a); });
  define<float>(table, "cos", [](float a) { return std::cos(a); });
  define<float>(table, "tanh", [](float a) { return std::tanh(a); });
}

} // namespace emulator::ptx
