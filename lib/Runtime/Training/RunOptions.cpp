//===- RunOptions.cpp - checks of a run's options -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training/BatchSource.h"
#include "stagewright/Runtime/Training.h"

namespace stagewright::runtime {

static void checkValidation(const ValidationOptions &options) {
  if (options.every.value_or(1) < 1)
    raise("--validate-every is ", *options.every, ", expected at least 1");
  if (options.steps.value_or(1) < 1)
    raise("--validation-steps is ", *options.steps, ", expected at least 1");
  if (!options.given() &&
      (options.every || options.steps || !options.data.empty()))
    raise(options.every   ? "--validate-every"
          : options.steps ? "--validation-steps"
                          : "--validation-data",
          " needs --validation=LOSS.swx, the loss compiled alone");
  if (options.given() && options.data.empty())
    raise("--validation needs --validation-data=NAME=FILE");
}

static void checkTraining(const TrainingOptions &options) {
  if (options.every.value_or(1) < 1)
    raise("--checkpoint-every is ", *options.every, ", expected at least 1");
  if (options.keep < 1)
    raise("--keep is ", options.keep, ", expected at least 1");
  if (options.checkpoints.empty() && (options.every || options.resume))
    raise(options.resume ? "--resume" : "--checkpoint-every",
          " needs --checkpoints=FOLDER");
  if (options.seed && options.data.empty())
    raise("--shuffle needs --data");
  const SourceOptions &source = options.source;
  if (source.what.empty() && (source.seed != 0 || source.ahead != 2))
    raise(source.seed ? "--source-seed" : "--source-ahead", " needs --source");
  if (!source.what.empty() && !options.data.empty())
    raise("--source gives all batch arguments; leave out --data");
  if (!options.fetched.empty() && source.what.empty() && options.data.empty())
    raise("--fetched counts rows in batches; it needs --source or --data");
  if (source.ahead < 0 || source.ahead > 1000)
    raise("--source-ahead is ", source.ahead, ", expected 0 to 1000");
  if (!source.what.empty())
    parseSourceName(source.what);
  checkValidation(options.validation);
}

void check(const RunOptions &options) {
  if (options.microbatches && *options.microbatches < 1)
    raise("the number of microbatches is ", *options.microbatches,
          ", expected at least 1");
  if (options.steps < 1)
    raise("the number of steps is ", options.steps, ", expected at least 1");
  if (options.threads < 1 || options.threads > 1024)
    raise("the number of threads per rank is ", options.threads,
          ", expected 1 to 1024");
  if (!(options.deadline >= 0))
    raise("--deadline is ", options.deadline, ", expected 0 seconds or more");
  if (!options.nan.empty() && options.nan != "stop" && options.nan != "ignore")
    raise("--nan is '", options.nan, "', expected 'stop' or 'ignore'");
  checkTraining(options.training);
}

} // namespace stagewright::runtime
