//===- Training.cpp - runs of many steps ----------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training.h"
#include "DType.h"

#include <cstdio>
#include <unistd.h>

using namespace stagewright::runtime;
using nlohmann::json;

Training::Training(const TrainingOptions &options, const RunFacts &facts,
                   const Launch &launch)
    : options(options), facts(facts), launch(launch),
      batches(options.data, "--data", options.seed, facts.manifest,
              facts.microbatches),
      inputs(options.values, facts.manifest), positions(batches.positions()) {
  positions.insert(inputs.positions().begin(), inputs.positions().end());
  if (!options.checkpoints.empty() && facts.program)
    writer.emplace(options.checkpoints, options.keep);
}

/// Calls `visit` with every parameter and state that the step replaces: its
/// argument and its result.
template <typename Visit>
static void forReplaced(const json &manifest, Visit visit) {
  for (const json &result : manifest.at("results")) {
    std::string role = result.at("role");
    if (role == "parameter" || role == "state")
      for (const json &argument : manifest.at("arguments"))
        if (argument.at("role") == role &&
            argument.at("name") == result.at("name"))
          visit(role, argument, result);
  }
}

void Training::resume(sw_step *step) {
  Checkpoint from = Checkpoint::newest(options.checkpoints);
  forReplaced(facts.manifest, [&](const std::string &role, const json &argument,
                                  const json &) {
    auto dtype = *dtypeFromName(argument.at("dtype").get<std::string>());
    auto shape = argument.at("shape").get<std::vector<int64_t>>();
    auto bytes = from.find(role, argument.at("name"), dtype, shape);
    sw_tensor tensor = {dtype, int32_t(shape.size()), shape.data(),
                        const_cast<std::byte *>(bytes.data())};
    if (sw_step_set_input(step, argument.at("position"), &tensor) != 0)
      throw Error(sw_error());
  });
  first = done = saved = from.step();
}

int64_t Training::begin(sw_step *step, int64_t steps) {
  all = steps;
  bool trains = false;
  forReplaced(facts.manifest, [&](auto &&...) { trains = true; });
  if (writer && !trains)
    raise("--checkpoints: the step has no optimizer, so nothing changes; "
          "import the model with the option 'update'");
  if (options.resume)
    resume(step);
  if (first >= all)
    raise("the checkpoint is of step ", first, ", and --steps is ", all,
          "; nothing is left to run");
  inputs.check(all);
  if (trains && !options.sameSeed)
    inputs.foldSeeds(facts.manifest, facts.inputs);
  if (options.validation.given())
    validation.emplace(options.validation, facts.manifest, facts.inputs);
  return first;
}

void Training::beginTogether(sw_step *step, const sw_options &how) {
  bool cuda = facts.manifest.at("target").value("kind", "") == "cuda";
  if (validation)
    validation->create(how);
  // Last, for only the process that speaks can fail here.
  beginToTell(step, how.trace > 0 && !cuda);
}

/// What stays the same for all steps.
static json describeRun(const RunFacts &facts, sw_step *step) {
  json ranks = json::array();
  for (size_t r = 0; r < facts.manifest.at("ranks").size(); ++r)
    ranks.push_back(
        {{"device", facts.manifest.at("ranks")[r].value("device", "")},
         {"planned_bytes", sw_step_predicted_bytes(step, int64_t(r))},
         {"arena_bytes", sw_step_arena_bytes(step, int64_t(r))}});
  json run = {{"artifact", facts.artifact},
              {"schedule", facts.manifest.value("schedule", "")},
              {"microbatches", facts.microbatches},
              {"ranks", ranks}};
  auto plan = facts.manifest.find("plan");
  if (plan != facts.manifest.end() && plan->is_object() &&
      plan->contains("idle"))
    run["planned_idle"] = plan->at("idle");
  return run;
}

void Training::beginToTell(sw_step *step, bool recorded) {
  // All processes must know, for reading a loss is a call of all.
  char shows = options.tells() && isatty(STDERR_FILENO) != 0;
  if (sw_broadcast(&shows, 1) != 0)
    throw Error(sw_error());
  tells = shows || !options.metrics.empty();
  measures = tells && recorded;
  if (tells && launch.speaks())
    progress.emplace(options.metrics, options.resume, shows != 0,
                     Progress::Amounts{batches.samples(), batches.tokens()},
                     describeRun(facts, step));
  if (progress)
    progress->begin(first, all);
}

void Training::feed(sw_step *step, int64_t number) {
  batches.set(step, number);
  inputs.set(step, number);
}

void Training::after(sw_step *step, int64_t number) {
  done = number + 1;
  StepFigures figures;
  figures.step = done;
  figures.seconds = sw_step_seconds(step);
  if (tells)
    figures.loss =
        readLoss(facts.program, step, facts.manifest, facts.microbatches);
  size_t ranks = facts.manifest.at("ranks").size();
  if (measures) {
    figures.idle.resize(ranks);
    if (sw_step_last_idle(step, figures.idle.data()) != 0)
      throw Error(sw_error());
  }
  for (size_t r = 0; r < ranks; ++r)
    if (int64_t live = sw_step_peak_bytes(step, int64_t(r)); live >= 0)
      figures.liveBytes.push_back(live);
  if (validation && validation->due(done, all))
    figures.validation = validation->run(step, launch);
  if (progress)
    progress->tell(figures);
  if (writer && options.every && done % options.every == 0)
    save(step, done);
}

std::string Training::lastGood() {
  if (!writer)
    return "";
  if (launch.speaks())
    writer->finish();
  std::optional<int64_t> step = newestStep(options.checkpoints);
  return step ? "step " + std::to_string(*step) + " in '" +
                    options.checkpoints + "'"
              : "";
}

/// All processes wait for the one that writes, and each knows that the others
/// live.
void Training::waitForWriting() {
  for (int busy = 1; busy == 1;) {
    busy = sw_any(writer->isBusy(0.2));
    if (busy < 0)
      raiseLastError();
  }
}

void Training::save(sw_step *step, int64_t steps) {
  waitForWriting();
  Snapshot snapshot;
  snapshot.step = steps;
  forReplaced(facts.manifest, [&](const std::string &role, const json &,
                                  const json &result) {
    Snapshot::Tensor it;
    it.role = role;
    it.name = result.at("name");
    it.dtype = *dtypeFromName(result.at("dtype").get<std::string>());
    it.shape = result.at("shape").get<std::vector<int64_t>>();
    it.bytes.resize(size_t(tensorBytes(it.dtype, it.shape).value_or(0)));
    sw_tensor wanted = {it.dtype, int32_t(it.shape.size()), it.shape.data(),
                        it.bytes.data()};
    if (sw_step_get_output(step, result.at("position"), &wanted) != 0)
      throw Error(sw_error());
    snapshot.tensors.push_back(std::move(it));
  });
  if (launch.speaks())
    writer->write(std::move(snapshot));
  saved = steps;
}

void Training::finish(sw_step *step) {
  if (!writer)
    return;
  if (saved != done)
    save(step, done);
  waitForWriting();
  writer->finish();
  if (sw_interrupted() && launch.speaks())
    std::fprintf(stderr,
                 "\npp-run: interrupted after step %lld, which is saved; "
                 "--resume goes on\n",
                 (long long)done);
}
