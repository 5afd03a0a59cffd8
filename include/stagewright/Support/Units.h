//===- Units.h - bytes, seconds, operations ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantities with their unit in the type, so that bytes are never added to
// seconds. They are plain numbers without prefixes, and with only the two
// conversions of a cost model (work over rate, bytes over bandwidth).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_UNITS_H
#define STAGEWRIGHT_SUPPORT_UNITS_H

#include "stagewright/Support/Result.h"
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace stagewright {

/// A number of type Number in the unit that Tag names.
template <typename Tag, typename Number> struct Quantity {
  Number value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(Number value) : value(value) {}

  constexpr Quantity &operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
  constexpr Quantity &operator-=(Quantity other) {
    value -= other.value;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(Quantity a, Number times) {
    return Quantity(a.value * times);
  }
  friend constexpr Quantity operator*(Number times, Quantity a) {
    return a * times;
  }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;
};

/// Time.
using Seconds = Quantity<struct SecondsTag, double>;
/// Memory; whole numbers, so that the sum printed is the sum allocated.
using Bytes = Quantity<struct BytesTag, int64_t>;
/// Floating-point operations.
using Flops = Quantity<struct FlopsTag, double>;
/// Operations a second.
using FlopRate = Quantity<struct FlopRateTag, double>;
/// Bytes a second.
using Bandwidth = Quantity<struct BandwidthTag, double>;

constexpr Seconds operator/(Flops work, FlopRate rate) {
  return Seconds(work.value / rate.value);
}
constexpr Seconds operator/(Bytes bytes, Bandwidth bandwidth) {
  return Seconds(static_cast<double>(bytes.value) / bandwidth.value);
}

/// `1536` as "1.5 KiB"; below one KiB as "12 B".
std::string toString(Bytes bytes);

/// `4.12e-5` as "41.2 us".
std::string toString(Seconds seconds);

/// "1.479 s", "41.25 us": to four digits, to compare times.
std::string precisely(Seconds seconds);

/// Reads "2.5GiB", "512 MiB", "64KB" or a plain number of bytes; prefixes
/// without the i are powers of ten.
Result<Bytes> parseBytes(std::string_view text);

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_UNITS_H
