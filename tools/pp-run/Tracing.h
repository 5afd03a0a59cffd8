//===- Tracing.h - which steps are drawn ------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_TRACING_H
#define STAGEWRIGHT_TOOLS_PP_RUN_TRACING_H

#include "stagewright-rt/runtime.h"

#include <cstdint>
#include <string>
#include <vector>

/// Which steps go into a trace, and where it goes.
class Tracing {
public:
  Tracing() = default;
  /// Of --trace: a file, `steps=FIRST:LAST`, or both. Without steps the last
  /// one is drawn. Throws an `Error` that says the form.
  explicit Tracing(const std::vector<std::string> &texts);

  /// Where it goes; empty: there is none.
  const std::string &path() const { return file; }
  /// How many steps the runtime must keep; 0: none.
  int64_t kept() const { return file.empty() ? 0 : last - first + 1; }
  /// Throws where the run, of the steps from `begin` to `end` counted from 1,
  /// does not have all of them.
  void check(int64_t begin, int64_t end) const;
  /// Whether the trace is to be written now: step `number` is the last one of
  /// it, or `ends` the run.
  bool due(int64_t number, bool ends) const {
    return !file.empty() && !written && (number == last || ends);
  }
  /// With several processes all make this call.
  void write(sw_step *step);

private:
  std::string file;
  int64_t first = 0, last = 0; ///< Counted from 1; 0: the last of the run.
  bool written = false;
};

#endif // STAGEWRIGHT_TOOLS_PP_RUN_TRACING_H
