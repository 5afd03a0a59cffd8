//===- HostErrors.h - errors of the C ABI -----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_HOSTERRORS_H
#define STAGEWRIGHT_LIB_RUNTIME_HOSTERRORS_H

#include "stagewright/Runtime/Error.h"

#include <new>

namespace stagewright::runtime {

/// The text of `sw_error` on this thread.
std::string &lastError();

/// Clears sw_error's text and runs `body`; an exception sets the text, and the
/// result is `failure`.
template <typename Result, typename Body>
Result guarded(Result failure, Body body) {
  try {
    lastError().clear();
    return body();
  } catch (const std::bad_alloc &) {
    lastError() = "out of memory";
  } catch (const std::exception &error) {
    lastError() = error.what();
  } catch (...) {
    lastError() = "unknown failure";
  }
  return failure;
}

/// Throws if a caller's struct called `name` is of another version.
inline void requireSize(const char *name, size_t size, size_t expected) {
  if (size != expected)
    raise(name, " has ", size, " bytes, expected ", expected,
          "; host and runtime differ in version");
}

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_HOSTERRORS_H
