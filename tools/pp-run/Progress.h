//===- Progress.h - a run while it runs -------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A line for people, which each step writes anew, and a line of JSON for each
// step, which `stagewright report` reads. Of several processes one tells.
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

/// What is told of one step.
struct StepFigures {
  int64_t step = 0; ///< Counted from 1.
  std::optional<double> loss, validation;
  double seconds = 0;
  std::vector<double> idle;       ///< By rank; empty: not measured.
  std::vector<int64_t> liveBytes; ///< By rank; empty: not checked.
};

class Progress {
public:
  /// What a step takes in; 0: not known.
  struct Amounts {
    int64_t samples = 0, tokens = 0;
  };
  /// Lines of JSON go to `path`, unless it is empty; `run` goes into the first
  /// one. A run that goes on after step `resumed` keeps the lines up to it. On
  /// a `terminal` one line is written over and over; elsewhere, as under mpirun
  /// or in a log, there is a new one now and then. Throws where the file cannot
  /// be written.
  Progress(const std::string &path, std::optional<int64_t> resumed,
           bool terminal, Amounts amounts, nlohmann::json run);
  ~Progress() { end(); }

  /// Time begins; `first` steps were run before, `all` shall be.
  void begin(int64_t first, int64_t all);
  void tell(const StepFigures &figures);
  /// Ends the line on the screen, for others to write below it.
  void end();

private:
  void write(const StepFigures &figures);
  bool isDue(int64_t step) const;
  std::string describe(const StepFigures &figures) const;
  double passed() const;

  std::ofstream file;
  bool terminal;
  double shown = 0;  ///< When, in seconds of the run.
  bool open = false; ///< The line on the screen has not ended.
  Amounts amounts;
  nlohmann::json run;
  int64_t first = 0, all = 0;
  std::optional<double> validation; ///< The last one.
  std::chrono::steady_clock::time_point began;
};

/// "45 s", "3 min 20 s", "2 h 05 min", "3 d 4 h".
std::string printDuration(double seconds);

#endif // STAGEWRIGHT_TOOLS_PP_RUN_PROGRESS_H
