//===- FailureReports.h - reports of processes after a failure --*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When a process fails, or hears that another has failed, it sends all others a
// report: its error, or where it is in the step. Of the processes that reported
// within a short time, the one with the lowest number prints one text for all.
// A process without a report has died or hangs.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_FAILUREREPORTS_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_FAILUREREPORTS_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace stagewright::runtime {

/// The report of a process; sent as plain bytes.
struct FailureReport {
  int64_t when = 0;    ///< nanoseconds by the clock of its host
  int64_t awaited = 0; ///< 1 + the rank it waits for; 0: none; -1: several
  /// 1: `text` is an error; 0: a place, or an error that follows another
  /// process's report.
  int64_t raised = 0;
  char text[1000] = {};

  void setText(const std::string &what) {
    std::strncpy(text, what.c_str(), sizeof(text) - 1);
  }
};

class FailureReports {
public:
  /// Forgets all reports; expects those of `count` processes.
  void expect(int64_t count) { reports.assign(size_t(count), {}); }
  void add(int64_t from, const FailureReport &report) {
    reports[size_t(from)].given = true;
    reports[size_t(from)].report = report;
  }
  bool has(int64_t from) const { return reports[size_t(from)].given; }
  /// The process that prints for all; -1: none has reported.
  int64_t printer() const {
    for (size_t p = 0; p < reports.size(); ++p)
      if (reports[p].given)
        return int64_t(p);
    return -1;
  }
  /// The text to print. By process: `names`, used for processes without a
  /// report; `died`, whether it is known to have died.
  std::string text(const std::vector<std::string> &names,
                   const std::vector<bool> &died) const {
    std::string result;
    for (size_t p = 0; p < reports.size(); ++p)
      if (died[p] && !reports[p].given)
        result += (result.empty() ? "" : "; ") + names[p] + " has died";
    const size_t none = reports.size();
    size_t chosen = none;
    auto isBetter = [&](size_t p) {
      return chosen == none || rank(p) > rank(chosen) ||
             (rank(p) == rank(chosen) &&
              reports[p].report.when < reports[chosen].report.when);
    };
    for (size_t p = 0; p < reports.size(); ++p)
      if (reports[p].given && isBetter(p))
        chosen = p;
    if (chosen != none)
      result += (result.empty() ? "" : "; ") +
                std::string(reports[chosen].report.text);
    for (size_t p = 0; p < reports.size(); ++p)
      if (!died[p] && !reports[p].given && chosen != none && rank(chosen) < 3)
        result += "; " + names[p] + " did not answer";
    return result;
  }

private:
  struct Entry {
    bool given = false;
    FailureReport report;
  };
  /// How much a report explains: 3: an error, 2: waits for a process without a
  /// report, 1: waits for another, 0: does not wait.
  int rank(size_t p) const {
    const FailureReport &report = reports[p].report;
    if (report.raised)
      return 3;
    if (report.awaited == 0)
      return 0;
    bool isAnswered = report.awaited < 0
                          ? std::all_of(
                                reports.begin(), reports.end(),
                                [](const Entry &entry) { return entry.given; })
                          : reports[size_t(report.awaited) - 1].given;
    return isAnswered ? 1 : 2;
  }

  std::vector<Entry> reports;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_FAILUREREPORTS_H
