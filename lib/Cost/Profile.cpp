//===- Profile.cpp - measured seconds of nodes ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Cost/Profile.h"
#include "stagewright/Cost/JsonFields.h"
#include <cmath>

using nlohmann::json;

namespace stagewright {

/// Reads the numbers of the object `field`, by name; `what` is for errors.
static Status readSeconds(const json &document, const std::string &file,
                          const char *field, const char *what,
                          std::map<std::string, Seconds> &result) {
  auto object = document.find(field);
  if (object == document.end() || !object->is_object())
    return Error{(file + " has no object '").append(field) + "'"};
  for (const auto &[name, value] : object->items()) {
    double seconds = value.is_number() ? value.get<double>() : -1;
    if (!(seconds >= 0) || !std::isfinite(seconds))
      return Error{(file + ": seconds of ").append(what) + " '" + name +
                   "' must be a number of at least 0, got " + value.dump()};
    result[name] = Seconds(seconds);
  }
  return {};
}

Result<Profile> parseProfile(const std::string &text, const std::string &file) {
  Result<json> parsed = parseJson(text, file);
  if (!parsed)
    return parsed.error();
  JsonFields fields(*parsed, file);
  Profile profile;
  profile.deviceClass = fields.text("device_class");
  if (fields.error())
    return *fields.error();
  if (Status status =
          readSeconds(*parsed, file, "nodes", "node", profile.nodes);
      !status)
    return status.error();
  auto read = [&](const char *field, const char *what,
                  std::map<std::string, Seconds> &result) -> Status {
    if (!parsed->contains(field) || (*parsed)[field].is_null())
      return {};
    return readSeconds(*parsed, file, field, what, result);
  };
  std::map<std::string, Seconds> step;
  for (Status status :
       {read("actions", "action", profile.actions),
        read("hops", "hop", profile.hops), read("step", "step", step)})
    if (!status)
      return status.error();
  if (!step.empty())
    profile.step = {step["seconds"], step["before"], step["after"]};
  return profile;
}

Result<Profile> loadProfile(const std::string &path) {
  Result<std::string> text = readTextFile(path);
  if (!text)
    return text.error();
  return parseProfile(*text, path);
}

} // namespace stagewright
