//===- JsonCosts.h - costs in the JSON of a profile -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the readers of JSON profiles share. Needs nlohmann/json.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_JSONCOSTS_H
#define STAGEWRIGHT_PLANNING_JSONCOSTS_H

#include "stagewright/Cost/JsonFields.h"

namespace stagewright {

/// Max number of devices in a profile; a larger number is taken for a mistake.
inline constexpr int64_t kMostProfileDevices = 10000;

/// Parses `text`. JSON has no NaN or Infinity, but some programs write them;
/// the error says where.
Result<nlohmann::json> parseProfileJson(const std::string &text,
                                        const std::string &file);

/// Checks that a time or a number of bytes is from 0 to kMostBytes.
Status checkAmount(double amount, const std::string &where, const char *field);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_JSONCOSTS_H
