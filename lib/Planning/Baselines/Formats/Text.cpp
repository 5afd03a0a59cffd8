//===- Text.cpp - lines and numbers of a profile --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Text.h"
#include "stagewright/Support/Limits.h"
#include "stagewright/Support/ParseNumber.h"
#include <cmath>

namespace stagewright {

/// Max cost, 30 million years in seconds, so that sums of costs stay finite.
static constexpr double kMostCost = 1e15;

static constexpr std::string_view kBlanks = " \t\r";

std::string_view trim(std::string_view text) {
  size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<TextLine> linesOf(std::string_view text) {
  std::vector<TextLine> lines;
  size_t number = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (std::string_view content = trim(line); !content.empty())
      lines.push_back({number, content, content.data() != line.data()});
  }
  return lines;
}

std::vector<std::string_view> split(std::string_view text,
                                    std::string_view separator) {
  std::vector<std::string_view> parts;
  for (size_t end = 0; end != std::string_view::npos;) {
    end = text.find(separator);
    parts.push_back(trim(text.substr(0, end)));
    if (end != std::string_view::npos)
      text.remove_prefix(end + separator.size());
  }
  return parts;
}

Error errorAt(const std::string &file, size_t line, std::string message) {
  return Error{file + ":" + std::to_string(line) + ": " + std::move(message)};
}

Result<double> parseCost(std::string_view text, const std::string &what) {
  std::optional<double> number = parseNumber<double>(text);
  if (!number)
    return Error{what + " must be a number, got '" + std::string(text) + "'"};
  if (!std::isfinite(*number) || *number < 0)
    return Error{what + " must be finite and at least 0, got " +
                 std::string(text)};
  if (*number > kMostCost)
    return Error{what + " must be at most 1e15, got " + std::string(text)};
  return *number;
}

Result<Bytes> parseByteCost(std::string_view text, const std::string &what) {
  Result<double> number = parseCost(text, what);
  if (!number)
    return number.error();
  if (*number > double(kMostBytes))
    return Error{what + " must be at most " + std::to_string(kMostBytes) +
                 " bytes, got " + std::string(text)};
  return Bytes(std::llround(*number));
}

void addParameters(Problem &problem, int64_t layer, Bytes parameters) {
  if (parameters.value == 0)
    return;
  for (ResidentKind kind : {ResidentKind::Parameter, ResidentKind::Gradient})
    problem.residents.push_back({parameters, kind, {layer}});
}

void addActivation(Problem &problem, int64_t layer, Bytes bytes,
                   const std::vector<int64_t> &consumers, bool learns) {
  if (consumers.empty())
    return;
  LayerValue output = {bytes, {layer, ActionKind::Forward}, {}};
  for (int64_t consumer : consumers) {
    output.uses.push_back({consumer, ActionKind::Forward});
    output.uses.push_back({consumer, ActionKind::InputGradient});
  }
  problem.values.push_back(std::move(output));
  if (!learns)
    return;
  for (int64_t consumer : consumers)
    problem.values.push_back({bytes,
                              {consumer, ActionKind::InputGradient},
                              {{layer, ActionKind::InputGradient}}});
}

} // namespace stagewright
