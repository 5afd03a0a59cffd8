//===- JsonCosts.cpp - costs in the JSON of a profile ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/JsonCosts.h"
#include "stagewright/Support/Limits.h"
#include <algorithm>

using nlohmann::json;

namespace stagewright {

Result<json> parseProfileJson(const std::string &text,
                              const std::string &file) {
  Result<json> parsed = parseJson(text, file);
  if (parsed)
    return parsed;
  for (const char *word : {"NaN", "Infinity"})
    if (size_t place = text.find(word); place != std::string::npos)
      return Error{
          file + ":" +
          std::to_string(std::count(text.begin(), text.begin() + place, '\n') +
                         1) +
          ": a cost is " + word +
          ", which JSON does not know; costs "
          "must be finite numbers of at least 0"};
  return parsed;
}

Status checkAmount(double amount, const std::string &where, const char *field) {
  if (amount >= 0 && amount <= double(kMostBytes))
    return {};
  return Error{where + ": field '" + field + "' must be from 0 to " +
               std::to_string(kMostBytes) + ", got " + json(amount).dump()};
}

} // namespace stagewright
