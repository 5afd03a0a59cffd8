//===- SearchLog.h - the evaluations of a search in a file ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder. The first line of the file names the search, each
// other line an evaluated plan:
//   {"search": "q", "seed": 1, "problem": "1f0c9b2e5a7d4410"}
//   {"plan": [0, 6, 1, 12, 3], "seconds": 0.0123}
// An infinite time is null. A last line that was cut off is dropped.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_SEARCHLOG_H
#define STAGEWRIGHT_LIB_PLANNING_SEARCHLOG_H

#include "stagewright/Planning/Search.h"
#include <fstream>
#include <map>

namespace stagewright {

class SearchLog {
public:
  /// Reads the file at `options.log`, or starts it. The error names the line
  /// that is no evaluation, or the search to which the file belongs.
  Status open(const SearchOptions &options, uint64_t problem);

  /// The time of `plan` in the file; infinite if it cannot run, none if the
  /// file does not have it.
  std::optional<double> timeOf(const Decisions &plan) const;

  /// The fastest plan in the file, and its time; none if none can run.
  std::optional<std::pair<Decisions, double>> fastest() const;

  /// Appends a plan that takes `seconds`.
  Status add(const Decisions &plan, double seconds);

private:
  Status read(const std::string &text, const std::string &header);

  std::string path;
  std::map<Decisions, double> times;
  std::ofstream file;
};

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_SEARCHLOG_H
