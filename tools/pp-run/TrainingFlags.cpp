//===- TrainingFlags.cpp - flags of training runs -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flags.h"

namespace stagewright::runtime {

static void declareValidation(CLI::App &app, ValidationOptions &options) {
  const char *group = "Validation: the loss on other data";
  app.add_option("--validation", options.artifact,
                 "Artifact of the loss, compiled from MODEL.validation.mlir "
                 "for the same number of ranks")
      ->type_name("LOSS.swx")
      ->group(group);
  app.add_option("--validation-data", options.data,
                 "Validation samples, in the form of --data; the first ones "
                 "are used, in order")
      ->type_name("NAME=FILE[:TENSOR][+SHIFT]")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option(
         "--validate-every", options.every,
         "Validate every N steps and after the last (default: only the last)")
      ->type_name("N")
      ->group(group);
  app.add_option("--validation-steps", options.steps,
                 "Number of validation batches (default: all samples once)")
      ->type_name("N")
      ->group(group);
}

void declareTraining(CLI::App &app, TrainingOptions &options) {
  const char *group = "Training: steps with an optimizer";
  app.add_option(
         "--data", options.data,
         "Samples of batch argument NAME: an .npy file, a tensor of a "
         ".safetensors file, or a .bin file of 16-bit tokens. One-dimensional "
         "data is cut into windows, starting at element SHIFT")
      ->type_name("NAME=FILE[:TENSOR][+SHIFT]")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--shuffle", options.seed,
                 "Shuffle the samples in every epoch, with this seed")
      ->type_name("SEED")
      ->group(group);
  app.add_option(
         "--source", options.source.what,
         "Compute all batch arguments of every step: by function NAME(seed, "
         "step, microbatch) of a Python file, which returns arrays by name, or "
         "by a library (stagewright-rt/source.h), to which TEXT is passed")
      ->type_name("FILE.py:NAME|LIBRARY.so[:TEXT]")
      ->group(group);
  app.add_option("--source-seed", options.source.seed,
                 "Seed of the source (default: 0)")
      ->type_name("SEED")
      ->group(group);
  app.add_option("--source-ahead", options.source.ahead,
                 "Max number of batches that the source computes before their "
                 "step begins (default: 2)")
      ->type_name("N")
      ->group(group);
  app.add_option("--fetched", options.fetched,
                 "Batch argument LIST, from --data or --source, holds numbers "
                 "of rows of argument TABLE. For the last step, count the "
                 "bytes of these rows, of padding (negative numbers), and of "
                 "rows that occur in the same list before")
      ->type_name("LIST=TABLE")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--checkpoints", options.checkpoints,
                 "Folder for checkpoints of parameters and state, after the "
                 "last step or if the run is interrupted")
      ->type_name("FOLDER")
      ->group(group);
  app.add_option(
         "--checkpoint-every", options.every,
         "Also write a checkpoint every N steps, while the next steps run")
      ->type_name("N")
      ->group(group);
  app.add_option("--keep", options.keep,
                 "Number of checkpoints to keep (default: 3)")
      ->type_name("N")
      ->group(group);
  app.add_flag("--resume", options.resume,
               "Resume from the newest checkpoint; --steps counts all steps")
      ->group(group);
  app.add_option(
         "--metrics", options.metrics,
         "Write a line of JSON for every step; 'stagewright report' plots it")
      ->type_name("FILE.jsonl")
      ->group(group);
  app.add_option("--step-values", options.values,
                 "Values of constant argument NAME, one for each step, such as "
                 "a learning rate")
      ->type_name("NAME=FILE.npy")
      ->allow_extra_args(false)
      ->group(group);
  app.add_flag("--same-seed", options.sameSeed,
               "Use the same seeds in all steps. By default, with an "
               "optimizer, step s uses jax.random.fold_in(key, s)")
      ->group(group);
  declareValidation(app, options.validation);
}

} // namespace stagewright::runtime
