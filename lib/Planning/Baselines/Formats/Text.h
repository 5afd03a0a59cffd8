//===- Text.h - lines and numbers of a profile ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: lines and numbers, shared by the readers of line
// formats, whose errors name file and line; and values and residents of layers,
// shared with the reader of Piper's JSON.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_FORMATS_TEXT_H
#define STAGEWRIGHT_PLANNING_FORMATS_TEXT_H

#include "stagewright/Planning/Problem.h"
#include <string_view>

namespace stagewright {

/// A line, trimmed of white space; `indented` if it began with white space.
struct TextLine {
  size_t number = 0; ///< From 1.
  std::string_view text;
  bool indented = false;
};

/// The lines of `text` that are not blank.
std::vector<TextLine> linesOf(std::string_view text);

/// The parts of `text` between `separator`s, white space around them removed.
std::vector<std::string_view> split(std::string_view text,
                                    std::string_view separator);

/// `text` without the white space at both ends.
std::string_view trim(std::string_view text);

/// "file:12: message".
Error errorAt(const std::string &file, size_t line, std::string message);

/// Reads a cost: a finite number of at least 0 and at most 1e15. `what` names
/// it in the error.
Result<double> parseCost(std::string_view text, const std::string &what);

/// Reads a cost in bytes; fractions round to the nearest.
Result<Bytes> parseByteCost(std::string_view text, const std::string &what);

/// Adds what `layer` always holds: its parameters and their gradients.
void addParameters(Problem &problem, int64_t layer, Bytes parameters);

/// Adds the output of `layer` for `consumers`: one value of the forward, used
/// by their forwards and kept for their backwards, and if `learns` a gradient
/// from each of them.
void addActivation(Problem &problem, int64_t layer, Bytes bytes,
                   const std::vector<int64_t> &consumers, bool learns = true);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_FORMATS_TEXT_H
