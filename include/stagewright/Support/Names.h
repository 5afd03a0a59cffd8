//===- Names.h - values and their names -------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_NAMES_H
#define STAGEWRIGHT_SUPPORT_NAMES_H

#include "stagewright/Support/Result.h"
#include <string>
#include <string_view>

namespace stagewright {

/// A value of an enum, with the name that users write.
template <typename Value> struct Named {
  Value value;
  const char *name;
};

/// The name of `value` in `table`, a range of Named.
template <typename Table, typename Value>
constexpr const char *nameIn(const Table &table, Value value) {
  for (const auto &it : table)
    if (it.value == value)
      return it.name;
  return "";
}

/// The entry of `table` whose field `name` equals the argument `name`. If there
/// is none, the error lists the names of the entries: "unknown order 'x'; there
/// are a, b". Entries for which `isListed` is false are found, but not listed.
template <typename Table, typename IsListed>
auto findNamed(const Table &table, const char *what, std::string_view name,
               IsListed isListed)
    -> Result<std::decay_t<decltype(*std::begin(table))>> {
  std::string known;
  for (const auto &it : table) {
    if (name == it.name)
      return it;
    if (isListed(it))
      known += (known.empty() ? "" : ", ") + std::string(it.name);
  }
  return Error{"unknown " + std::string(what) + " '" + std::string(name) +
               "'; there are " + known};
}
template <typename Table>
auto findNamed(const Table &table, const char *what, std::string_view name) {
  return findNamed(table, what, name, [](const auto &) { return true; });
}

/// The value called `name` in `table`, a range of Named.
template <typename Value, size_t size>
Result<Value> valueIn(const Named<Value> (&table)[size], const char *what,
                      std::string_view name) {
  Result<Named<Value>> found = findNamed(table, what, name);
  if (!found)
    return found.error();
  return found->value;
}

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_NAMES_H
