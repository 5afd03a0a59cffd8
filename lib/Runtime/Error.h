//===- Error.h - errors inside the runtime ----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside the runtime an error is an exception with a text made for the user:
// lower case, no full stop, both values, a way out. None crosses the C ABI.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_ERROR_H
#define STAGEWRIGHT_LIB_RUNTIME_ERROR_H

#include <cstdint>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>

namespace stagewright::runtime {

class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws an `Error` whose text is the arguments, printed one after another.
template <typename... Parts> [[noreturn]] void raise(const Parts &...parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Error(text.str());
}

/// The status of a process whose run a fault has ended: to run it again may
/// help, as it does not where what was asked for cannot be done (1).
inline constexpr int faultStatus = 3;

/// A shape as users write it: `[8, 4, 128]`.
inline std::string printShape(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_ERROR_H
