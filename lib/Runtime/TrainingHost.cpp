//===- TrainingHost.cpp - the C ABI of training runs ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostErrors.h"
#include "stagewright/Runtime/Training.h"

#include "stagewright-rt/training.h"

#include <algorithm>
#include <cmath>

using namespace stagewright::runtime;

struct sw_training {
  sw_training(RunOptions options, bool joined)
      : launch(joined), run(std::move(options), launch), values(run.values()) {}

  Launch launch;
  Run run;
  std::vector<RunValue> values;
  double validation = std::nan("");
};

namespace {

std::string text(const char *given) { return given ? given : ""; }

std::vector<std::string> list(const char *const *given) {
  std::vector<std::string> texts;
  for (; given && *given; ++given)
    texts.emplace_back(*given);
  return texts;
}

/// Nullopt if a number is 0, the default.
std::optional<int64_t> given(int64_t number) {
  return number ? std::optional(number) : std::nullopt;
}

void setStepOptions(RunOptions &run, const sw_options &step) {
  requireSize("sw_options", step.size, sizeof(sw_options));
  run.microbatches = given(step.microbatches);
  if (step.trace < 0)
    raise("the number of steps to record is ", step.trace,
          ", expected at least 0");
  run.recorded = step.trace;
  run.check = step.check != 0;
  run.profiles = step.profile != 0;
  run.pin = step.pin != 0;
  run.threads = step.threads ? step.threads : 1;
  run.devices = text(step.devices);
  run.direct = step.direct != 0;
  run.deadline = step.deadline;
  run.anyHosts = step.any_hosts != 0;
  run.anyOrder = step.any_order != 0;
  run.nan = step.finite ? "stop" : "";
  run.dilate = text(step.dilate);
  run.pace = text(step.pace);
}

RunOptions optionsOf(const sw_training_options &from) {
  requireSize("sw_training_options", from.size, sizeof(sw_training_options));
  if (!from.artifact)
    raise("sw_training_options has no 'artifact'; give the file that "
          "pp-compile wrote");
  RunOptions run;
  run.artifact = from.artifact;
  run.inputs = text(from.inputs);
  run.steps = from.steps;
  if (from.step)
    setStepOptions(run, *from.step);
  if (from.has_init)
    run.init = from.init;
  run.repeat = from.repeat != 0;
  if (from.ignore_nan)
    run.nan = "ignore";
  TrainingOptions &training = run.training;
  training.data = list(from.data);
  if (from.has_shuffle)
    training.seed = from.shuffle;
  training.source.what = text(from.source);
  training.source.seed = from.source_seed;
  training.values = list(from.step_values);
  training.sameSeed = from.same_seed != 0;
  training.resume = from.resume != 0;
  training.checkpoints = text(from.checkpoints);
  training.every = given(from.checkpoint_every);
  training.keep = from.keep ? from.keep : training.keep;
  training.metrics = text(from.metrics);
  training.validation = {text(from.validation), list(from.validation_data),
                         given(from.validate_every),
                         given(from.validation_steps)};
  return run;
}

/// Throws if `pointer`, which an error calls `name`, is null.
template <typename T> T &require(T *pointer, const char *name) {
  if (!pointer)
    raise(name, " is null");
  return *pointer;
}

sw_tensor typeOf(const RunValue &value) {
  return {value.dtype, int32_t(value.shape.size()), value.shape.data(),
          nullptr};
}

} // namespace

sw_training *sw_training_create(const sw_training_options *options) {
  return guarded<sw_training *>(nullptr, [&] {
    RunOptions run = optionsOf(require(options, "sw_training_options"));
    return new sw_training(std::move(run),
                           options->step && options->step->processes);
  });
}

void sw_training_destroy(sw_training *training) { delete training; }

int64_t sw_training_run(sw_training *training, int64_t steps, double *losses) {
  return guarded<int64_t>(-1, [&] {
    Run &run = require(training, "the training run").run;
    if (steps < 0)
      raise("the number of steps to run is ", steps, ", expected at least 0");
    int64_t done = 0;
    for (; done < steps && !sw_interrupted(); ++done) {
      StepFigures figures = run.next();
      if (figures.validation)
        training->validation = *figures.validation;
      // The loss of this step, also if measuring the step did not read it.
      std::optional<double> loss = figures.loss ? figures.loss : run.loss();
      if (losses)
        losses[done] = loss.value_or(std::nan(""));
    }
    return done;
  });
}

int64_t sw_training_done(const sw_training *training) {
  return guarded<int64_t>(
      -1, [&] { return require(training, "the training run").run.done(); });
}

double sw_training_validation(const sw_training *training) {
  return training ? training->validation : std::nan("");
}

int sw_training_save(sw_training *training) {
  return guarded(-1, [&] {
    Run &run = require(training, "the training run").run;
    if (!run.saves())
      raise("the run has no folder for checkpoints; give one with "
            "'checkpoints' of sw_training_options");
    run.finish();
    return 0;
  });
}

int64_t sw_training_value_count(const sw_training *training) {
  return guarded<int64_t>(-1, [&] {
    return int64_t(require(training, "the training run").values.size());
  });
}

int sw_training_describe(const sw_training *training, int64_t index,
                         sw_training_value *value) {
  return guarded(-1, [&] {
    const auto &values = require(training, "the training run").values;
    if (index < 0 || size_t(index) >= values.size())
      raise("there is no value number ", index, "; there are ", values.size());
    const RunValue &it = values[size_t(index)];
    require(value, "sw_training_value") = {it.role.c_str(), it.name.c_str(),
                                           it.position, typeOf(it)};
    return 0;
  });
}

int sw_training_read(sw_training *training, const char *role, const char *name,
                     const sw_tensor *tensor) {
  return guarded(-1, [&] {
    const auto &values = require(training, "the training run").values;
    require(role, "the role of a value"), require(name, "the name of a value");
    auto it =
        std::find_if(values.begin(), values.end(), [&](const RunValue &it) {
          return it.role == role && it.name == name;
        });
    if (it == values.end())
      raise("the step has no ", role, " '", name, "'; it has ", values.size(),
            " parameters and states");
    const sw_tensor &to = require(tensor, "sw_tensor");
    if (sw_step_get_output(training->run.step(), it->position, &to) != 0)
      raiseLastError();
    return 0;
  });
}

sw_program *sw_training_program(sw_training *training) {
  return guarded<sw_program *>(nullptr, [&] {
    return require(training, "the training run").run.program();
  });
}

sw_step *sw_training_step(sw_training *training) {
  return guarded<sw_step *>(nullptr, [&] {
    return require(training, "the training run").run.step();
  });
}
