//===- JsonFields.cpp - reads fields of a JSON object ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Cost/JsonFields.h"
#include <algorithm>

using nlohmann::json;

namespace stagewright {

JsonFields::JsonFields(const json &object, std::string where)
    : source(object), where(std::move(where)) {
  if (!object.is_object())
    problem =
        Error{this->where + " must be an object, got " + object.type_name()};
}

void JsonFields::allowOnly(std::initializer_list<const char *> fields) {
  if (problem)
    return;
  for (const auto &[name, value] : source.items()) {
    if (std::find(fields.begin(), fields.end(), name) != fields.end())
      continue;
    std::string known;
    for (const char *field : fields)
      known.append(known.empty() ? "" : ", ").append(field);
    problem = Error{(where + ": unknown field '").append(name) +
                    "'; there are " + known};
    return;
  }
}

bool JsonFields::has(const char *field) const {
  return source.is_object() && source.contains(field);
}

const json *JsonFields::get(const char *field, const char *kind,
                            bool (json::*fits)() const noexcept) {
  if (problem)
    return nullptr;
  auto found = source.find(field);
  if (found == source.end()) {
    problem = Error{where + " has no field '" + field + "'"};
    return nullptr;
  }
  if (!((*found).*fits)()) {
    constexpr size_t kShown = 60;
    std::string got = found->dump(-1, ' ', /*ensure_ascii=*/true);
    if (got.size() > kShown)
      got = got.substr(0, kShown) + "...";
    problem = Error{where + ": field '" + field + "' must be " + kind +
                    ", got " + got};
    return nullptr;
  }
  return &*found;
}

std::string JsonFields::text(const char *field) {
  const json *value = get(field, "a string", &json::is_string);
  return value ? value->get<std::string>() : std::string();
}

double JsonFields::number(const char *field) {
  const json *value = get(field, "a number", &json::is_number);
  return value ? value->get<double>() : 0;
}

int64_t JsonFields::integer(const char *field) {
  const json *value = get(field, "a whole number", &json::is_number_integer);
  if (value && value->is_number_unsigned() &&
      value->get<uint64_t>() > uint64_t(INT64_MAX)) {
    problem = Error{where + ": field '" + field + "' must be at most " +
                    std::to_string(INT64_MAX) + ", got " + value->dump()};
    return 0;
  }
  return value ? value->get<int64_t>() : 0;
}

const json &JsonFields::list(const char *field) {
  static const json kEmpty = json::array();
  const json *value = get(field, "a list", &json::is_array);
  return value ? *value : kEmpty;
}

const json &JsonFields::object(const char *field) {
  static const json kEmpty = json::object();
  const json *value = get(field, "an object", &json::is_object);
  return value ? *value : kEmpty;
}

Result<json> parseJson(const std::string &text, const std::string &file) {
  json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded())
    return Error{"'" + file + "' is not JSON"};
  return parsed;
}

} // namespace stagewright
