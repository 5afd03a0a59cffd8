//===- JsonFields.h - reads fields of a JSON object -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For readers of clusters, profiles and costs: the first wrong field of an
// object becomes an error that names the file, the object and the field. Needs
// nlohmann/json.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_COST_JSONFIELDS_H
#define STAGEWRIGHT_COST_JSONFIELDS_H

#include "stagewright/Support/Files.h"
#include <nlohmann/json.hpp>

namespace stagewright {

/// One object of a file; remembers the first error.
class JsonFields {
public:
  /// `where` begins each error: "cluster.json: device 'd1'".
  JsonFields(const nlohmann::json &object, std::string where);

  /// Makes any field not in `fields` an error that lists these.
  void allowOnly(std::initializer_list<const char *> fields);
  bool has(const char *field) const;

  std::string text(const char *field);
  double number(const char *field);
  int64_t integer(const char *field);
  /// The list or object of that name, or an empty one with an error.
  const nlohmann::json &list(const char *field);
  const nlohmann::json &object(const char *field);

  const std::optional<Error> &error() const { return problem; }

private:
  /// The field if `fits` accepts it, or null with an error.
  const nlohmann::json *get(const char *field, const char *kind,
                            bool (nlohmann::json::*fits)() const noexcept);

  const nlohmann::json &source;
  std::string where;
  std::optional<Error> problem;
};

/// Parses `text`; the error names `file`.
Result<nlohmann::json> parseJson(const std::string &text,
                                 const std::string &file);

} // namespace stagewright

#endif // STAGEWRIGHT_COST_JSONFIELDS_H
