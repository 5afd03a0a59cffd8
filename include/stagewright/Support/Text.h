//===- Text.h - tables for the terminal -------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_TEXT_H
#define STAGEWRIGHT_SUPPORT_TEXT_H

#include <string>
#include <string_view>
#include <vector>

namespace stagewright {

/// What a tool prints above its stack when it crashes.
inline constexpr const char *kFaultReport =
    "This is a fault of Stagewright, not of the model: please report it with "
    "the command and the input, and the lines below.\n";

/// The rows, a line each, with two spaces at least between aligned columns. All
/// rows have as many cells as the first; cells are ASCII.
std::string alignColumns(const std::vector<std::vector<std::string>> &rows);

/// A number without a unit, to eight digits: "33", "28.5", "1236.6042".
std::string plainly(double number);

/// The text of a JSON object with the members of another behind its own, which
/// has none of them: nothing is parsed, so that a large one costs a copy. Both
/// begin and end with a brace.
std::string withMembers(std::string_view object, std::string_view more);

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_TEXT_H
