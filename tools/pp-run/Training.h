//===- Training.h - runs of many steps --------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_TRAINING_H
#define STAGEWRIGHT_TOOLS_PP_RUN_TRAINING_H

#include "Batches.h"
#include "Checkpoints.h"
#include "Progress.h"
#include "StepInputs.h"
#include "Validation.h"
#include "stagewright/Runtime/Launch.h"

#include <CLI/CLI.hpp>
#include <set>

struct TrainingOptions {
  std::vector<std::string> data, values, fetched;
  SourceOptions source;
  std::optional<uint64_t> seed;
  std::string checkpoints, metrics;
  std::optional<int64_t> every; ///< In steps.
  int64_t keep = 3;
  bool resume = false, sameSeed = false;
  ValidationOptions validation;

  /// Whether progress is printed and recorded during the run.
  bool reports() const {
    return !data.empty() || !source.what.empty() || !checkpoints.empty() ||
           !metrics.empty();
  }
};

void declareTraining(CLI::App &app, TrainingOptions &options);

/// Throws if options contradict each other.
void checkTraining(const TrainingOptions &options);

/// The program, the manifest and the files of a run.
struct RunFacts {
  const sw_program *program;
  const nlohmann::json &manifest;
  int64_t microbatches;
  std::string artifact, inputs;
};

/// Sets batches before each step of a run, and handles figures and checkpoints
/// after it. If there are several processes, all make the same calls.
class Training {
public:
  /// Throws if the data does not fit the step.
  Training(const TrainingOptions &options, const RunFacts &facts,
           const stagewright::runtime::Launch &launch);

  /// Positions of the arguments that come from data.
  const std::set<int64_t> &fed() const { return positions; }
  /// Restores parameters and state from a checkpoint, if requested; returns the
  /// number of steps before the first one to run. `all`: the steps of the run.
  int64_t begin(sw_step *step, int64_t all);
  /// The calls before the first step that all processes must make together.
  /// `how`: the options with which the step was created.
  void beginTogether(sw_step *step, const sw_options &how);
  /// Sets the batch and the other changing arguments of step `number`.
  void feed(sw_step *step, int64_t number);
  /// Called after step `number`: records figures, saves a checkpoint if one is
  /// due.
  void after(sw_step *step, int64_t number);
  /// Saves a checkpoint of the last step, unless there is one; waits until it
  /// is written.
  void finish(sw_step *step);
  /// Whether the run saves checkpoints, so that an interrupted run can resume.
  bool saves() const { return checkpoints.saves(); }
  /// The rows in the last batch (--fetched).
  const Fetches &fetched() const { return batches->fetched(); }
  /// The last checkpoint, as the end of an error message.
  std::string lastGood() { return checkpoints.lastGood(launch); }

private:
  void beginReports(sw_step *step, bool recorded);

  const TrainingOptions &options;
  RunFacts facts;
  const stagewright::runtime::Launch &launch;
  std::optional<Batches> batches;
  StepInputs inputs;
  std::set<int64_t> positions;
  Checkpoints checkpoints;
  std::optional<Validation> validation;
  std::optional<Progress> progress; ///< In the process that prints.
  bool reports = false, measures = false;
  int64_t first = 0, all = 0, done = 0; ///< Numbers of steps.
};

#endif // STAGEWRIGHT_TOOLS_PP_RUN_TRAINING_H
