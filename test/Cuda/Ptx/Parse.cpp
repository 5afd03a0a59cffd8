//===- Parse.cpp - PTX parsed into instructions ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"

#include <cctype>

namespace emulator::ptx {

std::string_view trim(std::string_view text) {
  constexpr char blanks[] = " \t\r\n";
  size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
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
  while (!type.empty() && !std::isdigit(type.front()))
    type.remove_prefix(1);
  return std::max(std::stol(std::string(type)) / 8, 1L);
}

namespace {

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

class Reader {
public:
  explicit Reader(std::string_view source) : text(withoutComments(source)) {}

  Module run() {
    while (skipBlanks(), at < text.size()) {
      std::string_view word = until(" \t\r\n(");
      if (word == ".version" || word == ".target" || word == ".address_size")
        until("\n");
      else if (word == ".entry")
        entry();
      else if (word == ".extern")
        external();
      else if (word != ".visible")
        fail("a declaration that is not known", word);
      // skipBlanks() consumes the end of the line or statement.
    }
    return std::move(module);
  }

private:
  void skipBlanks() {
    while (at < text.size() && (std::isspace(text[at]) || text[at] == ';'))
      line += text[at++] == '\n';
  }

  /// Consumes the text before the first of `characters`.
  std::string_view until(const char *characters) {
    skipBlanks();
    size_t end = std::min(text.find_first_of(characters, at), text.size());
    std::string_view found = std::string_view(text).substr(at, end - at);
    line += int(std::count(found.begin(), found.end(), '\n'));
    at = end;
    return found;
  }

  /// Consumes a pair of brackets that opens here; returns the text inside.
  std::string_view between(char open, char close) {
    skipBlanks();
    if (at >= text.size() || text[at] != open)
      fail("expected a bracket in kernel", kernel.name);
    size_t begin = ++at;
    for (int depth = 1; at < text.size(); ++at) {
      depth += (text[at] == open) - (text[at] == close);
      if (depth == 0)
        break;
    }
    auto found = std::string_view(text).substr(begin, at++ - begin);
    line += int(std::count(found.begin(), found.end(), '\n'));
    return found;
  }

  /// `.shared .align 16 .b8 shared[]`: the dynamic shared memory of a block.
  void external() {
    std::string_view declaration = until(";");
    if (!trim(declaration).starts_with(".shared") ||
        !declaration.ends_with("[]"))
      fail("an external array that is not shared", declaration);
    dynamic = declaration.substr(declaration.rfind(' ') + 1);
    dynamic.resize(dynamic.size() - 2);
  }

  void entry() {
    kernel = {};
    kernel.name = trim(until("("));
    for (std::string_view declaration : split(between('(', ')'), ',')) {
      std::vector<std::string_view> words = split(declaration, ' ');
      if (words.size() < 3 || words.back().ends_with(']'))
        fail("a parameter that is not known", declaration);
      int64_t bytes = bytesOf(words[1]);
      int64_t end = kernel.parameters.empty()
                        ? 0
                        : kernel.parameters.back().offset +
                              kernel.parameters.back().bytes;
      kernel.parameters.push_back({std::string(words.back()),
                                   (end + bytes - 1) / bytes * bytes, bytes});
    }
    while (skipBlanks(), at < text.size() && text[at] != '{') {
      std::string_view directive = until(" \t\n");
      std::vector<std::string_view> values = split(until("\n{"), ',');
      if (directive == ".maxntid" || directive == ".reqntid")
        for (size_t i = 0; i < values.size() && i < 3; ++i)
          kernel.most[i] = std::stoi(std::string(values[i]));
      else if (directive != ".minnctapersm" && directive != ".maxnreg")
        fail("a directive that is not known", directive);
    }
    int first = line;
    readBody(kernel, between('{', '}'), first, dynamic);
    std::string name = kernel.name;
    module.kernels.emplace(std::move(name), std::move(kernel));
  }

  [[noreturn]] void fail(const char *what, std::string_view where) const {
    throw Unknown("line " + std::to_string(line) + ": " + what + ": '" +
                  std::string(where) + "'");
  }

  std::string text;
  size_t at = 0;
  int line = 1;
  std::string dynamic; ///< the name of dynamic shared memory
  Module module;
  Kernel kernel;
};

} // namespace

Module parse(std::string_view text) { return Reader(text).run(); }

} // namespace emulator::ptx
