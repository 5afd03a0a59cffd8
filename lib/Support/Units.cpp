//===- Units.cpp - bytes, seconds, operations -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Support/Units.h"
#include "stagewright/Support/Printed.h"
#include <array>
#include <cmath>
#include <cstdlib>

namespace stagewright {

/// `number` with one decimal and `unit`.
static std::string withUnit(double number, const char *unit) {
  return printed("%.1f %s", number, unit);
}

std::string toString(Bytes bytes) {
  double size = static_cast<double>(bytes.value);
  if (std::fabs(size) < 1024)
    return std::to_string(bytes.value) + " B";
  const char *unit = "B";
  for (const char *next : {"KiB", "MiB", "GiB", "TiB", "PiB"}) {
    if (std::fabs(size) < 1024)
      break;
    size /= 1024;
    unit = next;
  }
  return withUnit(size, unit);
}

std::string toString(Seconds seconds) {
  double time = seconds.value;
  if (time == 0 || std::fabs(time) >= 1)
    return withUnit(time, "s");
  if (std::fabs(time) >= 1e-3)
    return withUnit(time * 1e3, "ms");
  if (std::fabs(time) >= 1e-6)
    return withUnit(time * 1e6, "us");
  return withUnit(time * 1e9, "ns");
}

std::string precisely(Seconds seconds) {
  double time = seconds.value;
  const char *unit = "s";
  for (const char *smaller : {"ms", "us", "ns"}) {
    if (time == 0 || time >= 1)
      break;
    time *= 1e3;
    unit = smaller;
  }
  return printed("%.4g %s", time, unit);
}

Result<Bytes> parseBytes(std::string_view text) {
  std::string copy(text);
  char *rest = nullptr;
  double number = std::strtod(copy.c_str(), &rest);
  Error wrong{"'" + copy +
              "' is not an amount of memory; write bytes or a number with B, "
              "KiB, MiB, GiB, TiB, KB, MB, GB or TB, as in 2.5GiB"};
  if (rest == copy.c_str() || !std::isfinite(number))
    return wrong;
  while (*rest == ' ')
    ++rest;
  struct Suffix {
    std::string_view name;
    double factor;
  };
  constexpr double kKibi = 1024;
  constexpr std::array<Suffix, 10> suffixes = {
      {{"", 1},
       {"B", 1},
       {"KiB", kKibi},
       {"MiB", kKibi * kKibi},
       {"GiB", kKibi * kKibi * kKibi},
       {"TiB", kKibi * kKibi * kKibi * kKibi},
       {"KB", 1e3},
       {"MB", 1e6},
       {"GB", 1e9},
       {"TB", 1e12}}};
  for (const Suffix &suffix : suffixes) {
    if (suffix.name != rest)
      continue;
    double bytes = number * suffix.factor;
    // 2^63 is the smallest positive double that int64_t cannot hold.
    if (!(bytes >= 0) || bytes >= 9223372036854775808.0)
      return wrong;
    return Bytes(static_cast<int64_t>(std::llround(bytes)));
  }
  return wrong;
}

} // namespace stagewright
