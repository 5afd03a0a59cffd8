//===- Error.h - errors of the runtime --------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An error is an exception whose text is for the user: lower case, no full
// stop, expected and actual value, a way out. No exception crosses the C ABI.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RUNTIME_ERROR_H
#define STAGEWRIGHT_RUNTIME_ERROR_H

#include <cstdint>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>

namespace stagewright::runtime {

class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws an `Error` whose text is the concatenated arguments.
template <typename... Parts> [[noreturn]] void raise(const Parts &...parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Error(text.str());
}

/// Exit status of a process whose run was ended by a fault: a restart may help.
/// After other errors (status 1) it does not.
inline constexpr int faultStatus = 3;

/// A shape as users write it: `[8, 4, 128]`.
inline std::string printShape(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_RUNTIME_ERROR_H
