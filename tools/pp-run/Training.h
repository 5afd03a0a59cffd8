//===- Training.h - runs of many steps --------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_TRAINING_H
#define STAGEWRIGHT_TOOLS_PP_RUN_TRAINING_H

#include "Launch.h"
#include "Training/Checkpoint.h"
#include "Training/Feed.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <set>

struct TrainingOptions {
  std::vector<std::string> data;
  std::optional<uint64_t> seed;
  std::string checkpoints, metrics;
  int64_t every = 0, keep = 3;
  bool resume = false;
};

void declareTraining(CLI::App &app, TrainingOptions &options);

/// Throws for options that contradict each other.
void checkTraining(const TrainingOptions &options);

/// Batches in, checkpoints and figures out, around the steps of a run. With
/// several processes all of them make the same calls.
class Training {
public:
  /// Throws for data that does not fit the step.
  Training(const TrainingOptions &options, const sw_program *program,
           const nlohmann::json &manifest, int64_t microbatches);

  /// Positions of the arguments that come from data.
  const std::set<int64_t> &fed() const { return positions; }
  /// Sets parameters and state of a checkpoint, if asked for; the number of
  /// the first step to run. A process that is `alone` ends after its step when
  /// it is interrupted.
  int64_t begin(sw_step *step, bool alone);
  /// Sets the batch of step `number`.
  void feed(sw_step *step, int64_t number);
  /// After step `number` of `all`: figures, and a checkpoint when it is time.
  void after(sw_step *step, int64_t number, int64_t all, bool speaks);
  /// A checkpoint of the last step, if it has none yet; waits for the writing.
  void finish(sw_step *step, bool speaks);
  /// Whether somebody has asked the process to end.
  static bool interrupted();

private:
  struct Fed {
    int64_t position = 0;
    sw_dtype dtype = SW_I32;
    std::vector<int64_t> shape;
  };
  void save(sw_step *step, int64_t steps, bool speaks);

  const TrainingOptions &options;
  const sw_program *program;
  const nlohmann::json &manifest;
  int64_t microbatches, elements = 0; ///< Elements of the first data argument.
  std::set<int64_t> positions;
  std::vector<Fed> arguments;
  std::optional<stagewright::runtime::Feed> source;
  std::optional<stagewright::runtime::CheckpointWriter> writer;
  int64_t first = 0, done = 0, saved = -1; ///< Counts of steps.
  std::ofstream metrics;
  std::chrono::steady_clock::time_point began;
};

#endif // STAGEWRIGHT_TOOLS_PP_RUN_TRAINING_H
