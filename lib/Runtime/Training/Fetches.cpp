//===- Fetches.cpp - bytes of fetched rows and of padding -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training/Fetches.h"

#include "DType.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <cstring>

using nlohmann::json;

namespace stagewright::runtime {

static const json &argumentOf(const std::string &name, const json &manifest) {
  for (const json &it : manifest.at("arguments"))
    if (it.at("name") == name)
      return it;
  raise("--fetched: no argument is called '", name, "'");
}

Fetches::Fetches(const std::vector<std::string> &lists, const json &manifest,
                 const std::set<int64_t> &fed) {
  for (const std::string &text : lists) {
    size_t equals = text.find('=');
    if (equals == std::string::npos)
      raise("--fetched is '", text,
            "', expected LIST=TABLE, the names of two arguments");
    List it;
    it.list = text.substr(0, equals), it.table = text.substr(equals + 1);
    const json &list = argumentOf(it.list, manifest),
               &table = argumentOf(it.table, manifest);
    std::string type = list.at("dtype");
    if (list.at("role") != "batch" || (type != "i32" && type != "i64"))
      raise("--fetched: '", it.list, "' is a ",
            list.at("role").get<std::string>(), " argument of type ", type,
            ", expected a batch argument of i32 or i64");
    if (!fed.contains(list.at("position").get<int64_t>()))
      raise("--fetched: '", it.list, "' is not given by --data or --source");
    auto shape = table.at("shape").get<std::vector<int64_t>>();
    if (shape.empty())
      raise("--fetched: '", it.table, "' has no rows");
    shape[0] = 1;
    it.rowBytes =
        tensorBytes(*dtypeFromName(table.at("dtype").get<std::string>()), shape)
            .value_or(0);
    it.position = list.at("position"), it.wide = type == "i64";
    all.push_back(it);
  }
}

/// The number of entries of a list that are padding, and of those that repeat
/// an earlier row.
template <typename Number>
static std::pair<int64_t, int64_t> look(std::span<const std::byte> list) {
  std::vector<Number> rows(list.size() / sizeof(Number));
  std::memcpy(rows.data(), list.data(), rows.size() * sizeof(Number));
  std::ranges::sort(rows);
  auto first = std::ranges::lower_bound(rows, Number(0));
  int64_t repeated = 0;
  for (auto it = first; it != rows.end(); ++it)
    repeated += it != first && *it == *(it - 1);
  return {first - rows.begin(), repeated};
}

void Fetches::count(int64_t position, std::span<const std::byte> values,
                    int64_t microbatches) {
  for (List &it : all) {
    if (it.position != position)
      continue;
    it.padding = it.repeated = 0;
    it.rows = int64_t(values.size()) / (it.wide ? 8 : 4);
    size_t part = values.size() / size_t(microbatches);
    for (size_t from = 0; part > 0 && from < values.size(); from += part) {
      auto list = values.subspan(from, part);
      auto [padding, repeated] =
          it.wide ? look<int64_t>(list) : look<int32_t>(list);
      it.padding += padding, it.repeated += repeated;
    }
  }
}

std::vector<FetchedBytes> Fetches::bytes() const {
  std::vector<FetchedBytes> found;
  for (const List &it : all)
    found.push_back({it.list, it.table, it.rows * it.rowBytes,
                     it.padding * it.rowBytes, it.repeated * it.rowBytes});
  return found;
}

} // namespace stagewright::runtime
