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
#include "Launch.h"
#include "Progress.h"
#include "StepInputs.h"
#include "Validation.h"

#include <CLI/CLI.hpp>
#include <set>

struct TrainingOptions {
  std::vector<std::string> data, values;
  std::optional<uint64_t> seed;
  std::string checkpoints, metrics;
  std::optional<int64_t> every; ///< Steps.
  int64_t keep = 3;
  bool resume = false, sameSeed = false;
  ValidationOptions validation;

  /// Whether steps are told of while they run.
  bool tells() const {
    return !data.empty() || !checkpoints.empty() || !metrics.empty();
  }
};

void declareTraining(CLI::App &app, TrainingOptions &options);

/// Throws for options that contradict each other.
void checkTraining(const TrainingOptions &options);

/// What a run is of.
struct RunFacts {
  const sw_program *program;
  const nlohmann::json &manifest;
  int64_t microbatches;
  std::string artifact, inputs;
};

/// Batches in, checkpoints and figures out, around the steps of a run. With
/// several processes all of them make the same calls.
class Training {
public:
  /// Throws for data that does not fit the step.
  Training(const TrainingOptions &options, const RunFacts &facts,
           const Launch &launch);

  /// Positions of the arguments that come from data.
  const std::set<int64_t> &fed() const { return positions; }
  /// Sets parameters and state of a checkpoint, if asked for; the number of
  /// the first step to run, of `all`.
  int64_t begin(sw_step *step, int64_t all);
  /// What all processes do together before the first step; `how` is how the
  /// step was made.
  void beginTogether(sw_step *step, const sw_options &how);
  /// Sets the batch of step `number`, and what else changes with it.
  void feed(sw_step *step, int64_t number);
  /// After step `number`: figures, and a checkpoint when it is time.
  void after(sw_step *step, int64_t number);
  /// A checkpoint of the last step, if it has none yet; waits for the writing.
  void finish(sw_step *step);
  /// Whether steps are saved, so that an interrupted run can go on.
  bool saves() const { return checkpoints.saves(); }
  /// The last checkpoint, for errors; empty where there is none.
  std::string lastGood() { return checkpoints.lastGood(launch); }

private:
  void beginToTell(sw_step *step, bool recorded);

  const TrainingOptions &options;
  RunFacts facts;
  const Launch &launch;
  Batches batches;
  StepInputs inputs;
  std::set<int64_t> positions;
  Checkpoints checkpoints;
  std::optional<Validation> validation;
  std::optional<Progress> progress; ///< Of the process that speaks.
  bool tells = false, measures = false;
  int64_t first = 0, all = 0, done = 0; ///< Counts of steps.
};

#endif // STAGEWRIGHT_TOOLS_PP_RUN_TRAINING_H
