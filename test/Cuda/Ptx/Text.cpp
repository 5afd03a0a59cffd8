//===- Text.cpp - words and numbers of PTX --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Module.h"

#include <cctype>

namespace emulator::ptx {

std::string_view trim(std::string_view text) {
  constexpr char blanks[] = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    char it = i < text.size() ? text[i] : separator;
    depth += (it == '{' || it == '[' || it == '(');
    depth -= (it == '}' || it == ']' || it == ')');
    if (it != separator || depth > 0)
      continue;
    if (auto part = trim(text.substr(begin, i - begin)); !part.empty())
      parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

int64_t bytesOf(std::string_view type) {
  size_t digits = type.find_first_of("123456789");
  if (digits == std::string_view::npos)
    return 1;
  return std::max(std::stol(std::string(type.substr(digits))) / 8, 1L);
}

std::optional<uint64_t> numberIn(std::string_view text) {
  std::string digits(text);
  if (text == "true" || text == "false")
    return text == "true";
  if (text.starts_with("0f") || text.starts_with("0d"))
    return std::stoull(digits.substr(2), nullptr, 16);
  if (std::isdigit(text.front()) || text.front() == '-')
    return std::stoull(digits, nullptr, 0);
  return std::nullopt;
}

/// The text without comments, with the line ends of `//` comments.
std::string withoutComments(std::string_view text) {
  std::string kept;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string_view two = text.substr(i, 2);
    if (two == "//") {
      i = std::min(text.find('\n', i), text.size());
      kept += '\n';
    } else if (two == "/*") {
      i = std::min(text.find("*/", i), text.size()) + 1;
    } else {
      kept += text[i];
    }
  }
  return kept;
}

} // namespace emulator::ptx
