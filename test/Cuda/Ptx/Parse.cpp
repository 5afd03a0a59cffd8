//===- Parse.cpp - PTX parsed into instructions ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Module.h"

#include <cctype>
#include <cstring>

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
  if (text.front() == '-')
    return uint64_t(std::stoll(digits, nullptr, 0));
  if (std::isdigit(text.front()))
    return std::stoull(digits, nullptr, 0);
  return std::nullopt;
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
  Reader(std::string_view source, Memory &memory, int device)
      : text(withoutComments(source)), memory(memory), device(device) {}

  Module run() {
    while (skipBlanks(), at < text.size()) {
      std::string_view word = until(" \t\r\n(");
      if (word == ".version" || word == ".target" || word == ".address_size")
        until("\n");
      else if (word == ".entry")
        entry();
      else if (word == ".extern")
        external();
      else if (word == ".global")
        table();
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
    std::string name(declaration.substr(declaration.rfind(' ') + 1));
    symbols[name.substr(0, name.size() - 2)] = dynamicShared;
  }

  /// `.align 4 .b8 name[2] = {1, 2}`, in memory of its own.
  void table() {
    std::string_view text = until(";");
    size_t open = text.find('['), values = text.find('{');
    if (open > values || values == std::string_view::npos)
      fail("a table that is not known", text);
    std::vector<std::string_view> words = split(text.substr(0, open), ' ');
    int64_t size = bytesOf(words[words.size() - 2]);
    int64_t bytes = size * std::stol(std::string(text.substr(open + 1)));
    uint64_t address = memory.allocate(bytes, device);
    std::byte *at = memory.at(address, bytes, "allocates");
    std::fill_n(memory.marks(address), bytes, uint8_t(1));
    std::memset(at, 0, size_t(bytes));
    text = text.substr(values + 1, text.rfind('}') - values - 1);
    for (std::string_view it : split(text, ',')) {
      std::optional<uint64_t> value = numberIn(it);
      if (!value || (bytes -= size) < 0)
        fail("an element that is not known", it);
      std::memcpy(at, &*value, size_t(size));
      at += size;
    }
    symbols[std::string(words.back())] = int64_t(address);
  }

  void entry() {
    kernel = {};
    kernel.name = trim(until("("));
    for (std::string_view declaration : split(between('(', ')'), ',')) {
      std::vector<std::string_view> words = split(declaration, ' ');
      if (words.size() < 3 || words.back().ends_with(']'))
        fail("a parameter that is not known", declaration);
      int64_t bytes = bytesOf(words[1]);
      int64_t at = (kernel.argumentBytes + bytes - 1) / bytes * bytes;
      kernel.parameters.push_back({std::string(words.back()), at, bytes});
      kernel.argumentBytes = at + bytes;
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
    readBody(kernel, between('{', '}'), first, symbols);
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
  Memory &memory;
  int device;
  Symbols symbols; ///< of tables and dynamic shared memory
  Module module;
  Kernel kernel;
};

} // namespace

Module parse(std::string_view text, Memory &memory, int device) {
  return Reader(text, memory, device).run();
}

} // namespace emulator::ptx
