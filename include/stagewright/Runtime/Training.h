//===- Training.h - runs of many steps --------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A run loads an artifact, sets its arguments, and repeats three things: set
// the next batch, run the step, and at intervals write a checkpoint. It is what
// pp-run executes; pp-run itself adds flags, signals and what it prints. The C
// ABI of the same runs is stagewright-rt/training.h.
//
// Options have the names of pp-run's flags, and so do errors.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RUNTIME_TRAINING_H
#define STAGEWRIGHT_RUNTIME_TRAINING_H

#include "stagewright/Runtime/Launch.h"

#include <memory>
#include <numeric>
#include <vector>

namespace stagewright::runtime {

/// A process that computes the batches.
struct SourceOptions {
  std::string what; ///< FILE.py:NAME or LIBRARY.so[:TEXT]; empty: none
  uint64_t seed = 0;
  int64_t ahead = 2; ///< Batches computed before their step begins.
};

/// A second artifact, of the loss alone, and its samples.
struct ValidationOptions {
  std::string artifact;
  std::vector<std::string> data;
  std::optional<int64_t> every; ///< In steps; else only after the last one.
  std::optional<int64_t> steps; ///< Number of batches; else all samples.

  bool given() const { return !artifact.empty(); }
};

struct TrainingOptions {
  std::vector<std::string> data, values; ///< NAME=FILE
  std::vector<std::string> fetched;      ///< LIST=TABLE: rows to count.
  SourceOptions source;
  std::optional<uint64_t> seed; ///< Of the order of samples.
  std::string checkpoints, metrics;
  std::optional<int64_t> every; ///< Steps from one checkpoint to the next.
  int64_t keep = 3;
  bool resume = false, sameSeed = false;
  ValidationOptions validation;

  /// Whether losses and, on CPUs, idle times are read after every step.
  bool reports() const {
    return !data.empty() || !source.what.empty() || !checkpoints.empty() ||
           !metrics.empty();
  }
};

struct RunOptions {
  std::string artifact, inputs, outputs, profile, devices, nan, dilate, pace;
  std::vector<std::string> trace; ///< A file, or steps=FIRST:LAST.
  std::optional<int64_t> microbatches;
  std::optional<uint32_t> init; ///< Seed of arguments that `inputs` lacks.
  /// Number of all steps, those before a checkpoint included.
  int64_t steps = 1;
  int64_t threads = 1; ///< Per rank.
  double deadline = 0; ///< Seconds; 0: from earlier steps.
  /// Last steps that are recorded, if more than `trace` and reports need.
  int64_t recorded = 0;
  bool profiles = false; ///< Record the times of nodes, without a file.
  bool repeat = false, check = false, pin = false, direct = false,
       anyHosts = false, anyOrder = false, exact = false;
  TrainingOptions training;
};

/// Throws `Error` for values that are invalid for every artifact.
void check(const RunOptions &options);

/// The figures of one step.
struct StepFigures {
  int64_t step = 0; ///< Counted from 1.
  std::optional<double> loss, validation;
  double seconds = 0;
  std::vector<double> idle;       ///< By rank; empty: not measured.
  std::vector<int64_t> liveBytes; ///< By rank; empty: not checked.

  /// The mean of `idle`.
  double bubble() const {
    return std::accumulate(idle.begin(), idle.end(), 0.0) / double(idle.size());
  }
};

/// A parameter or state: a result of the step that replaces an argument.
struct RunValue {
  std::string role, name;
  int64_t position; ///< Of the result.
  sw_dtype dtype;
  std::vector<int64_t> shape;
};

/// The rows that a batch argument, `list`, names in argument `table`.
struct FetchedBytes {
  std::string list, table;
  int64_t bytes = 0;    ///< One row for each number of the lists of a step.
  int64_t padding = 0;  ///< Of negative numbers.
  int64_t repeated = 0; ///< Of rows that are in the same list already.
};

/// If there are several processes, all of them make the same calls in the same
/// order, and an error of one is thrown in all as an `AgreedError`.
class Run {
public:
  /// Loads the artifact, creates its step, sets its arguments, and continues
  /// from a checkpoint if requested. `launch` must outlive the run. Throws an
  /// `Error` for what does not fit.
  Run(RunOptions options, Launch &launch);
  ~Run();
  Run(const Run &) = delete;
  Run &operator=(const Run &) = delete;

  /// Runs the next step on its batch; validates, records and saves a checkpoint
  /// if that is due. From the first call on, errors are faults of the run.
  StepFigures next();
  /// Saves a checkpoint of the last step, unless there is one; waits until it
  /// is written. No-op without a folder for checkpoints.
  void finish();
  /// Writes outputs and profile, if requested.
  void writeFiles();

  /// Steps done, including those before the checkpoint with which the run
  /// began.
  int64_t done() const;
  /// Whether the run saves checkpoints, so that an interrupted run can resume.
  bool saves() const;
  /// The loss of the last step, if it has one.
  std::optional<double> loss();
  /// What the last step fetched, for each of the options' `fetched`, in a
  /// process that reads batches.
  std::vector<FetchedBytes> fetched() const;
  /// Parameters and state, in the order of roles and names.
  std::vector<RunValue> values() const;
  /// Samples of a step, and elements of its first batch argument if they are
  /// integers; 0: unknown.
  int64_t samples() const;
  int64_t tokens() const;
  /// A text about threads that share processors; empty if none do.
  std::string warning() const;
  bool onDevices() const;
  sw_program *program() const;
  sw_step *step() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

/// In the process that a run starts for a source in a library: serves the
/// library `what` on standard input until the other side closes it. Returns the
/// exit status. Only pp-run --serve-source calls it.
int serveBatches(const std::string &what, uint64_t seed);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_RUNTIME_TRAINING_H
