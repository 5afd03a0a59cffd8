//===- Progress.h - progress and metrics of a run ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A line for people, which each step overwrites, and a line of JSON for each
// step, which `stagewright report` reads. Only one of several processes prints
// them.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_PROGRESS_H
#define STAGEWRIGHT_TOOLS_PP_RUN_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

/// The figures reported for one step.
struct StepFigures {
  int64_t step = 0; ///< Counted from 1.
  std::optional<double> loss, validation;
  double seconds = 0;
  std::vector<double> idle;       ///< By rank; empty: not measured.
  std::vector<int64_t> liveBytes; ///< By rank; empty: not checked.
};

class Progress {
public:
  /// The input of a step; 0: unknown.
  struct Amounts {
    int64_t samples = 0, tokens = 0;
  };
  /// Lines of JSON are written to `path`, unless it is empty; the first one
  /// holds `run`. A run that resumes after step `resumed` keeps the lines up to
  /// it. On a `terminal` one line is overwritten; elsewhere, as under mpirun or
  /// in a log, new lines are printed at intervals. Throws if the file cannot be
  /// written.
  Progress(const std::string &path, std::optional<int64_t> resumed,
           bool terminal, Amounts amounts, nlohmann::json run);
  ~Progress() { end(); }

  /// Starts the clock; `first` steps were run before, up to step `all` will
  /// run.
  void begin(int64_t first, int64_t all);
  void report(const StepFigures &figures);
  /// Ends the current line on the terminal, so that others can print below it.
  void end();

private:
  void write(const StepFigures &figures);
  bool isDue(int64_t step) const;
  std::string describe(const StepFigures &figures) const;
  double passed() const;

  std::ofstream file;
  bool terminal;
  double shown = 0;  ///< When, in seconds of the run.
  bool open = false; ///< The line on the terminal is not ended.
  Amounts amounts;
  nlohmann::json run;
  int64_t first = 0, all = 0;
  std::optional<double> validation; ///< The last loss.
  std::chrono::steady_clock::time_point began;
};

/// Formats a duration: "45 s", "3 min 20 s", "2 h 05 min", "3 d 4 h".
std::string printDuration(double seconds);

#endif // STAGEWRIGHT_TOOLS_PP_RUN_PROGRESS_H
