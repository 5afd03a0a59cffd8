//===- Progress.h - the line that shows a run's progress --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A line for people, on standard error, printed at intervals. On a terminal it
// overwrites the previous one; elsewhere, such as under mpirun or in a log, it
// is a new line. Only one of several processes prints it.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_PROGRESS_H
#define STAGEWRIGHT_TOOLS_PP_RUN_PROGRESS_H

#include "stagewright/Runtime/Training.h"

#include <chrono>

namespace stagewright::runtime {

class Progress {
public:
  /// Starts the clock. `run` has not run a step yet; `all` is the number of its
  /// steps.
  Progress(bool terminal, const Run &run, int64_t all)
      : terminal(terminal), samples(run.samples()), tokens(run.tokens()),
        first(run.done()), all(all), began(std::chrono::steady_clock::now()) {}
  ~Progress() { end(); }

  void report(const StepFigures &figures);
  /// Ends the current line on the terminal, so that others can print below it.
  void end();

private:
  bool isDue(int64_t step) const;
  std::string describe(const StepFigures &figures) const;
  double passed() const;

  bool terminal;
  double shown = 0;  ///< Time of the last line, in seconds of the run.
  bool open = false; ///< Whether the line on the terminal is not ended.
  int64_t samples, tokens, first, all;
  std::optional<double> validation; ///< The last loss.
  std::chrono::steady_clock::time_point began;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_TOOLS_PP_RUN_PROGRESS_H
