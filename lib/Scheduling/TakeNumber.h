//===- TakeNumber.h - parsing numbers in action names -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_TAKENUMBER_H
#define STAGEWRIGHT_LIB_SCHEDULING_TAKENUMBER_H

#include <charconv>
#include <cstdint>
#include <string_view>

namespace stagewright {

/// Parses a decimal number at the front of `text` and removes it; false if
/// there is none or it is too large.
inline bool takeNumber(std::string_view &text, int64_t &number) {
  if (text.empty() || text.front() < '0' || text.front() > '9')
    return false;
  auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(end - text.data());
  return code == std::errc();
}

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_SCHEDULING_TAKENUMBER_H
