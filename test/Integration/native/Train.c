/*===- Train.c - a training run by the C ABI ----------------------*- C -*-===*\
|*                                                                            *|
|* Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.   *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* train STEP.swx INPUTS FOLDER FIRST STEPS NAME=FILE...                      *|
|*                                                                            *|
|* Runs FIRST steps, saves a checkpoint in FOLDER, and resumes in a new       *|
|* object up to STEPS. Prints every loss as a hexadecimal number, then the    *|
|* values with their bytes. With one argument it prints the errors of wrong   *|
|* calls instead.                                                             *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "stagewright-rt/training.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(void) {
  fprintf(stderr, "train: %s\n", sw_error());
  return 1;
}

/* Runs up to step `last`, saves, and prints the losses. */
static int runTo(sw_training *training, int64_t last) {
  int64_t count = last - sw_training_done(training);
  double *losses = calloc((size_t)count, sizeof(double));
  if (!losses || sw_training_run(training, count, losses) != count ||
      sw_training_save(training) != 0)
    return free(losses), fail();
  for (int64_t i = 0; i < count; ++i)
    printf("%a\n", losses[i]);
  free(losses);
  return 0;
}

/* Prints role, name and the sum of the bytes of every value. */
static int printValues(sw_training *training) {
  static const int64_t sizes[] = {4, 8, 2, 2, 1, 2, 4, 8, 1, 4, 8, 1, 2, 1, 1};
  for (int64_t i = 0; i < sw_training_value_count(training); ++i) {
    sw_training_value it;
    if (sw_training_describe(training, i, &it) != 0)
      return fail();
    int64_t bytes = sizes[it.tensor.dtype], sum = 0;
    for (int32_t d = 0; d < it.tensor.rank; ++d)
      bytes *= it.tensor.shape[d];
    unsigned char *data = malloc((size_t)bytes);
    it.tensor.data = data;
    if (!data || sw_training_read(training, it.role, it.name, &it.tensor) != 0)
      return free(data), fail();
    for (int64_t b = 0; b < bytes; ++b)
      sum += data[b];
    free(data);
    printf("%s %s %" PRId64 "\n", it.role, it.name, sum);
  }
  return 0;
}

static void printError(const char *what, int failed) {
  printf("%s: %s\n", what, failed ? sw_error() : "no error");
}

/* Wrong calls; each returns, and leaves its reason. */
static int printErrors(const char *artifact) {
  sw_training_options options = {0};
  sw_training_value value;
  printError("no options", !sw_training_create(NULL));
  printError("no size", !sw_training_create(&options));
  options.size = sizeof(options);
  printError("no artifact", !sw_training_create(&options));
  options.artifact = "/nowhere/step.swx", options.steps = 1;
  printError("missing artifact", !sw_training_create(&options));
  options.artifact = artifact;
  printError("no inputs", !sw_training_create(&options));
  options.inputs = "/nowhere/inputs.safetensors";
  printError("missing inputs", !sw_training_create(&options));
  printError("no run", sw_training_run(NULL, 1, NULL) < 0);
  printError("save no run", sw_training_save(NULL) < 0);
  printError("read no run", sw_training_read(NULL, "state", "x", NULL) < 0);
  printError("describe no run", sw_training_describe(NULL, 0, &value) < 0);
  printError("no step", !sw_training_step(NULL));
  sw_training_destroy(NULL);
  return 0;
}

int main(int count, char **arguments) {
  if (count == 2)
    return printErrors(arguments[1]);
  if (count < 6)
    return 2;
  sw_training_options options = {0};
  options.size = sizeof(options);
  options.artifact = arguments[1], options.inputs = arguments[2];
  options.checkpoints = arguments[3];
  options.steps = atoll(arguments[5]);
  options.data = (const char *const *)arguments + 6; /* ends with null */
  for (int half = 0; half < 2; ++half) {
    options.resume = half;
    sw_training *training = sw_training_create(&options);
    int status =
        training ? runTo(training, atoll(arguments[4 + half])) : fail();
    if (status == 0 && half == 1)
      status = printValues(training);
    sw_training_destroy(training);
    if (status != 0)
      return status;
  }
  return 0;
}
