//===- Text.h - formatting of text and numbers ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_TEXT_H
#define STAGEWRIGHT_SUPPORT_TEXT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagewright {

/// The message that a tool prints above its stack trace when it crashes.
inline constexpr const char *kFaultReport =
    "This is a fault of Stagewright, not of the model: please report it with "
    "the command and the input, and the lines below.\n";

/// Formats one line per row, with at least two spaces between aligned columns.
/// All rows have as many cells as the first; cells are ASCII.
std::string alignColumns(const std::vector<std::vector<std::string>> &rows);

/// "1 device", "3 devices".
std::string counted(int64_t count, std::string_view one);

/// FNV-1a of `bytes`, 64 bits (Fowler, Noll, Vo): detects accidental changes,
/// not attacks.
uint64_t fnv1a(std::string_view bytes);

/// A number without a unit, with up to eight digits: "33", "28.5", "1236.6042".
std::string plainly(double number);

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_TEXT_H
