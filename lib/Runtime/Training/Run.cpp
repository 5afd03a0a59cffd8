//===- Run.cpp - runs of many steps ---------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Runtime/Training.h"

#include "Files/AtomicFile.h"
#include "Threads/Processors.h"
#include "Training/Checkpoints.h"
#include "Training/Metrics.h"
#include "Training/StepInputs.h"
#include "Training/StepTensors.h"
#include "Training/TraceSteps.h"
#include "Training/Validation.h"
#include "stagewright/Runtime/Deadline.h"

#include <cmath>

namespace stagewright::runtime {

using nlohmann::json;

struct Run::State {
  State(RunOptions options, Launch &launch)
      : options(std::move(options)), launch(launch) {}
  void load();
  void bindData();
  void createStep();
  void setArguments();
  void begin();
  void feed(int64_t number);
  void runStep(int64_t number);
  StepFigures measure();
  std::optional<double> loss() {
    return readLoss(program.get(), step.get(), manifest, microbatches);
  }
  bool cuda() const {
    return manifest.at("target").value("kind", "") == "cuda";
  }
  /// Whether NaN or infinity in a loss (on CPUs also in parameters) ends the
  /// run: by default, whether the step has an optimizer.
  bool stopsAtNan() const;
  json describe() const;

  RunOptions options;
  Launch &launch;
  std::unique_ptr<sw_program, void (*)(sw_program *)> program = {nullptr,
                                                                 sw_unload};
  json manifest;
  int64_t microbatches = 0, done = 0;
  TraceSteps trace;
  sw_options how = {};
  std::optional<StepInputs> inputs;
  std::optional<Checkpoints> checkpoints;
  std::optional<Batches> batches;
  std::set<int64_t> fed; ///< Positions of arguments that come from data.
  std::unique_ptr<sw_step, void (*)(sw_step *)> step = {nullptr,
                                                        sw_step_destroy};
  std::optional<Validation> validation;
  std::optional<Metrics> metrics; ///< In the process that writes.
  bool measuresIdle = false;
};

/// Refuses replicas that do not train synchronously.
static void checkExact(const RunOptions &options, const json &manifest) {
  for (const json &rank : manifest.at("ranks"))
    if (options.exact && rank.contains("averages"))
      raise("--exact: replicas of '", options.artifact,
            "' average their parameters every ",
            rank.at("averages").at(0).at("every"),
            " steps, so its steps are not the synchronous ones; compile it "
            "without --average-every");
}

void Run::State::load() {
  check(options);
  // Load the artifact first: if it is invalid, that is the error to report.
  program.reset(sw_load(options.artifact.c_str()));
  if (!program)
    raise("'", options.artifact, "': ", sw_error());
  if (options.inputs.empty() && !options.init)
    raise("no arguments for the step; give them with --inputs=FILE, or "
          "initialise them with --init=SEED");
  manifest = json::parse(sw_manifest(program.get()));
  checkExact(options, manifest);
  microbatches =
      options.microbatches.value_or(manifest.at("microbatches").get<int64_t>());
  trace = TraceSteps(options.trace);
  if (launch.isMain())
    for (const std::string &path :
         {options.outputs, options.profile, trace.path()})
      if (!path.empty())
        requireWritable(path);
}

void Run::State::bindData() {
  const TrainingOptions &training = options.training;
  inputs.emplace(training.values, manifest);
  checkpoints.emplace(training.checkpoints, training.keep, training.resume,
                      manifest);
  if (training.source.what.empty())
    batches.emplace(training.data, "--data", training.seed, manifest,
                    microbatches);
  else
    batches.emplace(training.source, manifest, microbatches);
  batches->count(Fetches(training.fetched, manifest, batches->positions()));
  fed = batches->positions();
  fed.insert(inputs->positions().begin(), inputs->positions().end());
}

bool Run::State::stopsAtNan() const {
  if (!options.nan.empty())
    return options.nan == "stop";
  const json &results = manifest.at("results");
  return std::any_of(results.begin(), results.end(), [](const auto &it) {
    return it.at("role") == "parameter";
  });
}

void Run::State::createStep() {
  // On CPUs, recording a step has no measurable cost.
  measuresIdle = options.training.reports() && !cuda();
  int64_t kept =
      std::max<int64_t>({trace.kept(), options.recorded, measuresIdle ? 1 : 0});
  how = {sizeof(sw_options),
         microbatches,
         int32_t(kept),
         options.check,
         options.profiles || !options.profile.empty(),
         options.pin,
         int32_t(options.threads),
         options.devices.c_str(),
         options.direct,
         options.deadline,
         launch.joined(),
         options.anyHosts,
         options.anyOrder,
         stopsAtNan(),
         options.dilate.c_str(),
         options.pace.c_str()};
  step.reset(sw_step_create(program.get(), &how));
  if (!step)
    raiseLastError();
}

/// Whether a rank of this process reads one of the arguments at `positions`.
static bool reads(const json &manifest, const Launch &launch,
                  const std::set<int64_t> &positions) {
  for (size_t r = 0; r < manifest.at("ranks").size(); ++r) {
    if (launch.joined() && int64_t(r) != sw_process())
      continue;
    for (const json &buffer : manifest.at("ranks")[r].at("buffers"))
      if (positions.count(buffer.value("argument", int64_t(-1))))
        return true;
  }
  return false;
}

void Run::State::setArguments() {
  const TrainingOptions &training = options.training;
  setInputs(program.get(), step.get(), manifest, microbatches, fed,
            {options.inputs, options.repeat, options.init});
  checkpoints->begin(launch);
  if (training.resume)
    done = checkpoints->resume(step.get());
  if (done >= options.steps)
    raise("the checkpoint is of step ", done, ", and --steps is ",
          options.steps, "; nothing is left to run");
  inputs->check(options.steps);
  batches->start(options.steps,
                 std::max(sw_step_deadline(step.get()), Deadline::first),
                 reads(manifest, launch, batches->positions()) ||
                     (launch.isMain() && batches->fetched().any()));
  if (checkpoints->any() && !training.sameSeed)
    inputs->foldSeeds(manifest, options.inputs);
  if (training.validation.given())
    validation.emplace(training.validation, manifest, options.inputs);
  trace.check(done + 1, options.steps);
}

/// Facts about the run that are the same for all steps.
json Run::State::describe() const {
  json ranks = json::array();
  for (size_t r = 0; r < manifest.at("ranks").size(); ++r)
    ranks.push_back(
        {{"device", manifest.at("ranks")[r].value("device", "")},
         {"planned_bytes", sw_step_predicted_bytes(step.get(), int64_t(r))},
         {"arena_bytes", sw_step_arena_bytes(step.get(), int64_t(r))}});
  json run = {{"artifact", options.artifact},
              {"schedule", manifest.value("schedule", "")},
              {"microbatches", microbatches},
              {"ranks", ranks}};
  auto plan = manifest.find("plan");
  if (plan != manifest.end() && plan->is_object() && plan->contains("idle"))
    run["planned_idle"] = plan->at("idle");
  return run;
}

void Run::State::begin() {
  const TrainingOptions &training = options.training;
  if (validation)
    validation->create(how);
  // Last, since an error here occurs only in the process that writes.
  if (!training.metrics.empty() && launch.isMain())
    metrics.emplace(training.metrics,
                    training.resume ? std::optional(done) : std::nullopt,
                    batches->samples(), batches->tokens(), describe());
}

Run::Run(RunOptions options, Launch &launch)
    : state(std::make_unique<State>(std::move(options), launch)) {
  // Each collective call has its own together(), so that others hear of errors.
  launch.together([&] { state->load(); });
  launch.together([&] { state->bindData(); });
  launch.together([&] { state->createStep(); });
  launch.together([&] { state->setArguments(); });
  launch.together([&] { state->begin(); });
}

Run::~Run() = default;

void Run::State::runStep(int64_t number) {
  launch.begin();
  try {
    batches->set(step.get(), number);
    inputs->set(step.get(), number);
  } catch (const Error &error) { // An error of this process alone.
    raise(error.what(), checkpoints->lastGood(launch));
  }
  try {
    if (sw_step_run(step.get()) != 0)
      launch.raiseEverywhere();
    // Ranks on GPUs neither check for NaN nor agree on errors themselves.
    if (cuda())
      launch.together(
          [&] {
            if (!stopsAtNan())
              return;
            if (std::optional<double> found = loss();
                found && !std::isfinite(*found))
              raise("the loss is ", *found);
          },
          step.get());
  } catch (const Error &error) {
    std::string text = error.what();
    if (checkpoints->saves())
      text = "step " + std::to_string(number + 1) + ": " + text;
    text += checkpoints->lastGood(launch);
    if (launch.joined())
      throw AgreedError(text);
    raise(text);
  }
}

StepFigures Run::State::measure() {
  StepFigures figures;
  figures.step = done;
  figures.seconds = sw_step_seconds(step.get());
  if (options.training.reports())
    figures.loss = loss();
  size_t ranks = manifest.at("ranks").size();
  if (measuresIdle) {
    figures.idle.resize(ranks);
    if (sw_step_last_idle(step.get(), figures.idle.data()) != 0)
      raiseLastError();
  }
  for (size_t r = 0; r < ranks; ++r)
    if (int64_t live = sw_step_peak_bytes(step.get(), int64_t(r)); live >= 0)
      figures.liveBytes.push_back(live);
  if (validation && validation->due(done, options.steps))
    figures.validation = validation->run(step.get(), launch);
  return figures;
}

StepFigures Run::next() {
  State &it = *state;
  if (it.done == it.options.steps)
    raise("all ", it.done, " steps of the run are done");
  it.runStep(it.done);
  ++it.done;
  StepFigures figures = it.measure();
  if (it.metrics)
    it.metrics->write(figures);
  const std::optional<int64_t> &every = it.options.training.every;
  if (every && it.done % *every == 0)
    it.checkpoints->save(it.step.get(), it.done);
  bool ends = it.done == it.options.steps || sw_interrupted();
  if (it.trace.due(it.done, ends))
    it.launch.together([&] { it.trace.write(it.step.get()); });
  return figures;
}

void Run::finish() {
  state->launch.together([&] {
    if (!saves())
      return;
    state->checkpoints->save(state->step.get(), state->done);
    state->checkpoints->finish();
  });
}

void Run::writeFiles() {
  const RunOptions &options = state->options;
  state->launch.together([&] {
    if (!options.outputs.empty())
      writeOutputs(program(), step(), state->microbatches,
                   state->launch.isMain(), options.outputs);
  });
  state->launch.together([&] {
    if (!options.profile.empty() &&
        sw_step_write_profile(step(), options.profile.c_str()) != 0)
      raiseLastError();
  });
}

std::string Run::warning() const {
  int64_t ranks = int64_t(state->manifest.at("ranks").size());
  int64_t threads = state->options.threads;
  if (state->launch.joined() || threads == 1 || ranks * threads <= processors())
    return "";
  return std::to_string(ranks) + " x " + std::to_string(threads) +
         " threads share " + std::to_string(processors()) + " processor" +
         (processors() == 1 ? "" : "s") +
         " and will wait for each other; give fewer with --threads-per-rank";
}

int64_t Run::done() const { return state->done; }
bool Run::saves() const { return state->checkpoints->saves(); }
std::optional<double> Run::loss() { return state->loss(); }
std::vector<RunValue> Run::values() const {
  return state->checkpoints->values();
}
std::vector<FetchedBytes> Run::fetched() const {
  return state->batches->fetched().bytes();
}
int64_t Run::samples() const { return state->batches->samples(); }
int64_t Run::tokens() const { return state->batches->tokens(); }
bool Run::onDevices() const { return state->cuda(); }
sw_program *Run::program() const { return state->program.get(); }
sw_step *Run::step() const { return state->step.get(); }

} // namespace stagewright::runtime
