//===- TrainingOptions.cpp - options of runs of many steps ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training.h"

using namespace stagewright::runtime;

static void declareValidation(CLI::App &app, ValidationOptions &options) {
  const char *group = "Validation: the loss on other data";
  app.add_option("--validation", options.artifact,
                 "The loss alone, compiled for as many ranks; what "
                 "pp-compile made of MODEL.validation.mlir")
      ->type_name("LOSS.swx")
      ->group(group);
  app.add_option("--validation-data", options.data,
                 "Its samples, as --data; the first ones, in order")
      ->type_name("NAME=FILE[:TENSOR][+SHIFT]")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--validate-every", options.every,
                 "After so many steps, and after the last (default: the last)")
      ->type_name("N")
      ->group(group);
  app.add_option("--validation-steps", options.steps,
                 "How many batches (default: all samples once)")
      ->type_name("N")
      ->group(group);
}

void declareTraining(CLI::App &app, TrainingOptions &options) {
  const char *group = "Training: steps with an optimizer";
  app.add_option("--data", options.data,
                 "Samples of a batch argument, by its name: an .npy file, a "
                 "tensor of a .safetensors file, or a .bin file of 16-bit "
                 "tokens; one dimension is cut into windows, from element "
                 "SHIFT on")
      ->type_name("NAME=FILE[:TENSOR][+SHIFT]")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--shuffle", options.seed,
                 "Another order of the samples in every epoch, by this seed")
      ->type_name("SEED")
      ->group(group);
  app.add_option("--checkpoints", options.checkpoints,
                 "Folder for parameters and state after the last step, or "
                 "when the run is interrupted")
      ->type_name("FOLDER")
      ->group(group);
  app.add_option("--checkpoint-every", options.every,
                 "Also after so many steps, written while steps run on")
      ->type_name("N")
      ->group(group);
  app.add_option("--keep", options.keep,
                 "How many checkpoints stay (default: 3)")
      ->type_name("N")
      ->group(group);
  app.add_flag("--resume", options.resume,
               "Go on from the newest checkpoint; --steps counts all steps")
      ->group(group);
  app.add_option("--metrics", options.metrics,
                 "Where to write a line of JSON for every step; 'stagewright "
                 "report' draws it")
      ->type_name("FILE.jsonl")
      ->group(group);
  app.add_option("--step-values", options.values,
                 "A value for each step of a constant argument, by its name: "
                 "a learning rate, say")
      ->type_name("NAME=FILE.npy")
      ->allow_extra_args(false)
      ->group(group);
  app.add_flag("--same-seed", options.sameSeed,
               "Keep seeds as they are; by default step s of a step with an "
               "optimizer takes jax.random.fold_in(key, s)")
      ->group(group);
  declareValidation(app, options.validation);
}

void checkTraining(const TrainingOptions &options) {
  if (options.every.value_or(1) < 1)
    raise("--checkpoint-every is ", *options.every, ", expected at least 1");
  if (options.keep < 1)
    raise("--keep is ", options.keep, ", expected at least 1");
  if (options.checkpoints.empty() && (options.every || options.resume))
    raise(options.resume ? "--resume" : "--checkpoint-every",
          " needs --checkpoints=FOLDER");
  if (options.seed && options.data.empty())
    raise("--shuffle needs --data");
  checkValidation(options.validation);
}
