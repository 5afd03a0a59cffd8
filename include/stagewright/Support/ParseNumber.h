//===- ParseNumber.h - numbers in text --------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_PARSENUMBER_H
#define STAGEWRIGHT_SUPPORT_PARSENUMBER_H

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stagewright {

/// Parses and removes a number at the front of `text`. Returns nothing, and
/// leaves `text` unchanged, if it begins with anything else or the number is
/// out of range.
template <typename Number = int64_t>
std::optional<Number> takeNumber(std::string_view &text) {
  Number number = 0;
  auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc())
    return std::nullopt;
  text.remove_prefix(size_t(end - text.data()));
  return number;
}

/// The number that is all of `text`; none if there is anything else.
template <typename Number = int64_t>
std::optional<Number> parseNumber(std::string_view text) {
  std::optional<Number> number = takeNumber<Number>(text);
  return text.empty() ? number : std::nullopt;
}

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_PARSENUMBER_H
