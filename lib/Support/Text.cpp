//===- Text.cpp - formatting of text and numbers --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Support/Text.h"
#include "stagewright/Support/Printed.h"
#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>

namespace stagewright {

std::string alignColumns(const std::vector<std::vector<std::string>> &rows) {
  if (rows.empty())
    return "";
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const auto &row : rows)
    for (size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  for (const auto &row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c)
      line += row[c] + std::string(widths[c] + 2 - row[c].size(), ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string plainly(double number) { return printed("%.8g", number); }

std::string printed(const char *format, ...) {
  std::array<char, 128> text;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return text.data();
}

static std::string pluralOf(std::string_view one) {
  auto ends = [&](std::string_view with) { return one.ends_with(with); };
  if (ends("y") && !ends("ay") && !ends("ey") && !ends("oy"))
    return std::string(one.substr(0, one.size() - 1)) + "ies";
  return std::string(one) + (ends("s") || ends("ch") ? "es" : "s");
}

std::string counted(int64_t count, std::string_view one) {
  return std::to_string(count) + " " +
         (count == 1 ? std::string(one) : pluralOf(one));
}

uint64_t fnv1a(std::string_view bytes) {
  uint64_t value = 0xcbf29ce484222325;
  for (unsigned char byte : bytes) {
    value ^= byte;
    value *= 0x100000001b3;
  }
  return value;
}

} // namespace stagewright
