//===- training.h - the C ABI of training runs --------------------*- C -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs of many steps in a program's own process: what pp-run does, without its
// flags and without what it prints. A program or library that uses it links
// only libstagewright-rt.
//
//   sw_training_options options = {.size = sizeof(options)};
//   options.artifact = "step.swx", options.inputs = "model.safetensors";
//   options.steps = 300, options.checkpoints = "run";
//   sw_training *training = sw_training_create(&options);
//   if (!training || sw_training_run(training, 300, NULL) < 0 ||
//       sw_training_save(training) != 0)
//     fprintf(stderr, "%s\n", sw_error());
//   sw_training_destroy(training);
//
// A function that fails returns a null pointer or a negative number, and
// `sw_error()` returns the reason with its place: the file, the argument or the
// step. Options are named after pp-run's flags; errors name the flags. No
// function lets an exception out. A training run is not thread-safe.
//
// With several processes (sw_connect, and `processes` in the options of the
// step) every function but those that say otherwise is collective, and the
// process of rank 0 gets losses and values. All processes end if one of them
// dies or hangs, or if a step on GPUs fails; a single process never ends.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RT_TRAINING_H
#define STAGEWRIGHT_RT_TRAINING_H

// NOLINTBEGIN(readability-identifier-naming): C names, with a prefix.

#include "stagewright-rt/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A step, its arguments, and the number of steps done; opaque.
typedef struct sw_training sw_training;

/// Options of a training run. `size` must be sizeof(sw_training_options); 0 or
/// null in any other field is the default. Texts and lists are copied; a list
/// ends with a null pointer.
typedef struct sw_training_options {
  size_t size;
  const char *artifact;   ///< a step compiled by pp-compile; required
  const char *inputs;     ///< arguments by position, a safetensors file
  int64_t steps;          ///< all steps of the run, those before a checkpoint
                          ///< included; required
  const sw_options *step; ///< options of the step; null: the defaults. If
                          ///< the step has an optimizer, `finite` is 1 unless
                          ///< `ignore_nan` is set
  int32_t has_init;       ///< 1: initialise what `inputs` lacks, by the rule
  uint32_t init;          ///< of pp-run --init with this seed
  int32_t repeat;         ///< 1: `inputs` has one microbatch, used for all
  int32_t ignore_nan;     ///< 1: go on if results are NaN or infinite

  const char *const *data;        ///< "NAME=FILE[:TENSOR][+SHIFT]" for every
                                  ///< batch argument read from a file
  int32_t has_shuffle;            ///< 1: shuffle the samples of every epoch
  uint64_t shuffle;               ///< with this seed
  const char *source;             ///< "FILE.py:NAME" or "LIBRARY.so[:TEXT]"
  uint64_t source_seed;           ///< what `source` gets as its seed
  const char *const *step_values; ///< "NAME=FILE.npy": a value for each step
  int32_t same_seed;              ///< 1: the same random keys in all steps

  int32_t resume;           ///< 1: go on from the newest checkpoint
  const char *checkpoints;  ///< folder; null: none are written
  int64_t checkpoint_every; ///< steps; 0: only by sw_training_save
  int64_t keep;             ///< number of checkpoints kept; 0: three
  const char *metrics;      ///< a file with a line of JSON for every step

  const char *validation; ///< artifact of the loss alone; null: none
  const char *const *validation_data; ///< as `data`
  int64_t validate_every;             ///< steps; 0: after the last step alone
  int64_t validation_steps;           ///< batches; 0: all samples once
} sw_training_options;

/// Loads the artifact, creates its step, sets its arguments, and restores the
/// newest checkpoint if `resume` is set.
SW_EXPORT sw_training *sw_training_create(const sw_training_options *options);
/// Does not save. Null is allowed.
SW_EXPORT void sw_training_destroy(sw_training *training);

/// Runs the next `steps` steps, each on its batch; validates and writes metrics
/// and checkpoints where they are due. Stores the loss of every step in
/// `losses`, which has room for `steps` numbers or is null; NaN if the step has
/// no result with the role "loss" that is a float32 or float64 scalar. Returns
/// the number of steps run, which is less only after sw_interrupt. After an
/// error, destroy the run and resume from a checkpoint.
SW_EXPORT int64_t sw_training_run(sw_training *training, int64_t steps,
                                  double *losses);
/// Steps done, those before the checkpoint included; -1 if `training` is null.
/// Not collective.
SW_EXPORT int64_t sw_training_done(const sw_training *training);
/// The loss of the last validation; NaN if there was none. Not collective.
SW_EXPORT double sw_training_validation(const sw_training *training);

/// Writes a checkpoint of the last step to the folder `checkpoints`, unless
/// that step has one already, and waits until it is on the disk.
SW_EXPORT int sw_training_save(sw_training *training);

/// A parameter or a part of the optimizer's state. Texts and shape live as long
/// as the run; `tensor.data` is null.
typedef struct sw_training_value {
  const char *role; ///< "parameter" or "state"
  const char *name; ///< the model's, as in checkpoints
  int64_t position; ///< of the result, for sw_step_read_output
  sw_tensor tensor; ///< type and shape
} sw_training_value;

/// The number of values, which are in the order of roles and names, and value
/// number `index`. Not collective.
SW_EXPORT int64_t sw_training_value_count(const sw_training *training);
SW_EXPORT int sw_training_describe(const sw_training *training, int64_t index,
                                   sw_training_value *value);
/// Copies the present value of that role and name to `tensor->data`; type and
/// shape must agree.
SW_EXPORT int sw_training_read(sw_training *training, const char *role,
                               const char *name, const sw_tensor *tensor);

/// The program and the step, which belong to the run, for the functions of
/// runtime.h that read times, memory, traces and results. Not collective.
SW_EXPORT sw_program *sw_training_program(sw_training *training);
SW_EXPORT sw_step *sw_training_step(sw_training *training);

#ifdef __cplusplus
}
#endif

// NOLINTEND(readability-identifier-naming)

#endif // STAGEWRIGHT_RT_TRAINING_H
