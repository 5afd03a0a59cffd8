//===- Chain.cpp - reads chains of layers ---------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One line per layer; lines that begin with # are comments:
//
//   # forward seconds, backward seconds, bytes sent to the next layer,
//   # parameter bytes
//   0.0034 0.0068 384000000 6835
//
// The bytes that the last layer sends are ignored.
//
//===----------------------------------------------------------------------===//

#include "Text.h"
#include "stagewright/Planning/Baselines/Formats.h"

namespace stagewright {

namespace {
struct Row {
  Seconds forward, backward;
  Bytes cut, parameters;
};
} // namespace

/// Splits a line at blanks and tabs.
static std::vector<std::string_view> wordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.push_back(line.substr(0, end));
    line = trim(line.substr(end));
  }
  return words;
}

static Result<Row> parseRow(std::string_view line) {
  std::vector<std::string_view> words = wordsOf(line);
  if (words.size() != 4)
    return Error{
        "a layer has 4 numbers (forward seconds, backward seconds, bytes "
        "sent to the next layer, parameter bytes), got " +
        std::to_string(words.size())};
  Result<double> forward = parseCost(words[0], "forward seconds"),
                 backward = parseCost(words[1], "backward seconds");
  Result<Bytes> cut = parseByteCost(words[2], "bytes sent to the next layer"),
                parameters = parseByteCost(words[3], "parameter bytes");
  if (!forward)
    return forward.error();
  if (!backward)
    return backward.error();
  if (!cut)
    return cut.error();
  if (!parameters)
    return parameters.error();
  return Row{Seconds(*forward), Seconds(*backward), *cut, *parameters};
}

Result<Problem> readChain(const std::string &text, const std::string &file) {
  Problem problem;
  std::vector<Bytes> cuts;
  for (const TextLine &line : linesOf(text)) {
    if (line.text.front() == '#')
      continue;
    Result<Row> row = parseRow(line.text);
    if (!row)
      return errorAt(file, line.number, row.error().message);
    int64_t layer = int64_t(problem.layers.size());
    problem.layers.push_back({"layer" + std::to_string(layer),
                              {{row->forward, row->backward, Seconds()}}});
    addParameters(problem, layer, row->parameters);
    cuts.push_back(row->cut);
  }
  if (problem.layers.empty())
    return Error{file + ": no layers"};
  for (size_t layer = 0; layer + 1 < cuts.size(); ++layer)
    addActivation(problem, int64_t(layer), cuts[layer], {int64_t(layer) + 1});
  return problem;
}

} // namespace stagewright
