//===- Profile.cpp - measured seconds of nodes ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Cost/Profile.h"
#include "JsonFields.h"
#include <cmath>

using nlohmann::json;

namespace stagewright {

Result<Profile> parseProfile(const std::string &text, const std::string &file) {
  Result<json> parsed = parseJson(text, file);
  if (!parsed)
    return parsed.error();
  JsonFields fields(*parsed, file);
  Profile profile;
  profile.deviceClass = fields.text("device_class");
  if (fields.error())
    return *fields.error();
  if (!parsed->contains("nodes") || !(*parsed)["nodes"].is_object())
    return Error{file + " has no object 'nodes'"};
  for (const auto &[name, value] : (*parsed)["nodes"].items()) {
    double seconds = value.is_number() ? value.get<double>() : -1;
    if (!(seconds >= 0) || !std::isfinite(seconds))
      return Error{(file + ": seconds of node '").append(name) +
                   "' must be a number of at least 0, got " + value.dump()};
    profile.nodes[name] = Seconds(seconds);
  }
  return profile;
}

Result<Profile> loadProfile(const std::string &path) {
  Result<std::string> text = readTextFile(path);
  if (!text)
    return text.error();
  return parseProfile(*text, path);
}

} // namespace stagewright
