//===- Result.h - a value or an error ---------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Error handling of code without MLIR (problems, plans, schedules), which has
// no diagnostics engine; passes turn an Error into a diagnostic. The interface
// is that of std::expected (C++23), which g++ 12 does not have in C++20. Errors
// are returned, not thrown.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_RESULT_H
#define STAGEWRIGHT_SUPPORT_RESULT_H

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagewright {

/// Why something failed: lower case, no full stop, both values, a way out. The
/// notes point to other places.
struct Error {
  std::string message;
  std::vector<std::string> notes = {};
};

/// A value of type T, or an Error.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : content(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : content(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return content.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// The value; only if ok().
  T &operator*() { return std::get<0>(content); }
  const T &operator*() const { return std::get<0>(content); }
  T *operator->() { return &std::get<0>(content); }
  const T *operator->() const { return &std::get<0>(content); }

  /// The error; only if not ok().
  const Error &error() const { return std::get<1>(content); }

private:
  std::variant<T, Error> content;
};

/// Success or an Error: the result of a check.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : problem(std::move(error)) {}

  bool ok() const { return !problem; }
  explicit operator bool() const { return ok(); }

  /// The error; only if not ok().
  const Error &error() const { return *problem; }

private:
  std::optional<Error> problem;
};

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_RESULT_H
