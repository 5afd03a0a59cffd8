//===- Text.cpp - formatting of text and numbers --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Support/Text.h"
#include <algorithm>
#include <array>
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

std::string plainly(double number) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.8g", number);
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
