//===- TraceSteps.h - the steps of a trace ----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRAINING_TRACESTEPS_H
#define STAGEWRIGHT_LIB_RUNTIME_TRAINING_TRACESTEPS_H

#include "stagewright-rt/runtime.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stagewright::runtime {

/// The steps to be traced, and the file of the trace.
class TraceSteps {
public:
  TraceSteps() = default;
  /// From --trace: a file, `steps=FIRST:LAST`, or both. Without steps the last
  /// step is traced. Throws an `Error` that shows the expected form.
  explicit TraceSteps(const std::vector<std::string> &texts);

  /// The file of the trace; empty: no trace.
  const std::string &path() const { return file; }
  /// The number of steps that the runtime must keep; 0: none.
  int64_t kept() const { return file.empty() ? 0 : last - first + 1; }
  /// Throws if a step to be traced is not between `begin` and `end`, the first
  /// and last step of the run, counted from 1.
  void check(int64_t begin, int64_t end) const;
  /// Whether the trace must be written now: step `number` is its last one, or
  /// the last of the run (`ends`).
  bool due(int64_t number, bool ends) const {
    return !file.empty() && !written && (number == last || ends);
  }
  /// If there are several processes, all must make this call.
  void write(sw_step *step);

private:
  std::string file;
  int64_t first = 0, last = 0; ///< Counted from 1; 0: the run's last step.
  bool written = false;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_TRACESTEPS_H
