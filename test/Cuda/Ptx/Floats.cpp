//===- Floats.cpp - PTX on floating-point numbers -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 16-bit sums and products are computed in double precision and rounded through
// float32. The result has the device's bits: the 24 bits of float32 are enough
// to round a sum or product of 11-bit numbers twice. Approximations (ex2, lg2,
// tanh and so on) use the C library: a device's last bits differ.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include <cfenv>
#include <cmath>

namespace emulator::ptx {

namespace {

template <typename T>
using Exact = std::conditional_t<sizeof(T) == 2, double, T>;

/// Max, or min if `smaller`, as on a device: a NaN is returned or ignored
/// (`keepsNan`), and -0 is less than 0.
template <typename T> T larger(T a, T b, bool keepsNan, bool smaller) {
  if (std::isnan(Exact<T>(a)) || std::isnan(Exact<T>(b))) {
    if (keepsNan)
      return T(std::numeric_limits<float>::quiet_NaN());
    return std::isnan(Exact<T>(a)) ? b : a;
  }
  bool below = Exact<T>(a) < Exact<T>(b) ||
               (Exact<T>(a) == Exact<T>(b) && std::signbit(Exact<T>(a)));
  return below == smaller ? a : b;
}

/// Defines the operations on T, computed in `Exact<T>` and rounded to T.
template <typename T> void defineFor(Table &table) {
  using E = Exact<T>;
  auto rounded = [](E value) {
    if constexpr (sizeof(T) == 2)
      return T(float(value));
    else
      return T(value);
  };
  using Rounded = decltype(rounded);
  define<T>(table, "add", [](T a, T b) { return Rounded()(E(a) + E(b)); });
  define<T>(table, "sub", [](T a, T b) { return Rounded()(E(a) - E(b)); });
  define<T>(table, "mul", [](T a, T b) { return Rounded()(E(a) * E(b)); });
  define<T>(table, "div", [](T a, T b) { return Rounded()(E(a) / E(b)); });
  define<T>(table, "fma", [](T a, T b, T c) {
    return Rounded()(std::fma(E(a), E(b), E(c)));
  });
  define<T>(table, "neg", [](T a) {
    auto bits = put<T>(a) ^ uint64_t(1) << (8 * sizeof(T) - 1);
    return get<T>(bits);
  });
  define<T>(table, "abs", [](T a) {
    auto bits = put<T>(a) & ~(uint64_t(1) << (8 * sizeof(T) - 1));
    return get<T>(bits);
  });
  define<T>(table, "max", [](T a, T b) { return larger(a, b, false, false); });
  define<T>(table, "min", [](T a, T b) { return larger(a, b, false, true); });
  define<T>(table, "max.NaN",
            [](T a, T b) { return larger(a, b, true, false); });
  define<T>(table, "min.NaN",
            [](T a, T b) { return larger(a, b, true, true); });
}

/// Defines the operations on two packed 16-bit numbers by those on one.
template <typename T> void definePairs(Table &table) {
  std::string one = Word<T>::names[0], two = Word<Pair<T>>::names[0];
  auto both = [&]<typename Function>(const char *name, Function) {
    define<Pair<T>>(table, name, [](Pair<T> a, Pair<T> b, Pair<T> c) {
      return Pair<T>{
          T(float(Function()(double(a.low), double(b.low), double(c.low)))),
          T(float(Function()(double(a.high), double(b.high), double(c.high))))};
    });
  };
  both("add", [](double a, double b, double) { return a + b; });
  both("sub", [](double a, double b, double) { return a - b; });
  both("mul", [](double a, double b, double) { return a * b; });
  both("fma", [](double a, double b, double c) { return std::fma(a, b, c); });
  both("neg", [](double a, double, double) { return -a; });
  both("abs", [](double a, double, double) { return std::fabs(a); });
  define<Pair<T>>(table, "max", [](Pair<T> a, Pair<T> b) {
    return Pair<T>{larger(a.low, b.low, false, false),
                   larger(a.high, b.high, false, false)};
  });
  define<Pair<T>>(table, "max.NaN", [](Pair<T> a, Pair<T> b) {
    return Pair<T>{larger(a.low, b.low, true, false),
                   larger(a.high, b.high, true, false)};
  });
}

/// A float32 result rounded toward zero, as ".rz" does. Through volatile
/// variables, which the compiler does not move over a change of the mode.
template <typename Function>
float truncated(Function compute, float a, float b, float c) {
  volatile float x = a, y = b, z = c;
  int before = std::fegetround();
  std::fesetround(FE_TOWARDZERO);
  volatile float result = compute(x, y, z);
  std::fesetround(before);
  return result;
}

} // namespace

void defineFloats(Table &table) {
  defineFor<float>(table);
  defineFor<double>(table);
  defineFor<Bfloat16>(table);
  defineFor<Half>(table);
  definePairs<Bfloat16>(table);
  definePairs<Half>(table);
  define<float, double>(table, "rcp", [](auto a) { return 1 / a; });
  define<float, double>(table, "sqrt", [](auto a) { return std::sqrt(a); });
  define<float, double>(table, "rsqrt", [](auto a) {
    return decltype(a)(1 / std::sqrt(double(a)));
  });
  define<float>(table, "add.rz", [](float a, float b) {
    return truncated([](float x, float y, float) { return x + y; }, a, b, 0);
  });
  define<float>(table, "mul.rz", [](float a, float b) {
    return truncated([](float x, float y, float) { return x * y; }, a, b, 0);
  });
  define<float>(table, "fma.rz", [](float a, float b, float c) {
    return truncated(
        [](float x, float y, float z) { return std::fma(x, y, z); }, a, b, c);
  });
  define<float>(table, "ex2", [](float a) { return std::exp2(a); });
  define<float>(table, "lg2", [](float a) { return std::log2(a); });
  define<float>(table, "sin", [](float a) { return std::sin(a); });
  define<float>(table, "cos", [](float a) { return std::cos(a); });
  define<float>(table, "tanh", [](float a) { return std::tanh(a); });
  define<float, double>(table, "copysign", [](auto sign, decltype(sign) size) {
    return std::copysign(size, sign);
  });
}

} // namespace emulator::ptx
