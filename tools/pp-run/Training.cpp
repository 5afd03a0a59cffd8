//===- Training.cpp - runs of many steps ----------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training.h"
#include "DType.h"
#include "Tensors.h"
#include "stagewright/Runtime/Deadline.h"

#include <cstdio>
#include <unistd.h>

using namespace stagewright::runtime;
using nlohmann::json;

Training::Training(const TrainingOptions &options, const RunFacts &facts,
                   const Launch &launch)
    : options(options), facts(facts), launch(launch),
      inputs(options.values, facts.manifest),
      checkpoints(options.checkpoints, options.keep, options.resume,
                  facts.manifest) {
  if (options.source.what.empty())
    batches.emplace(options.data, "--data", options.seed, facts.manifest,
                    facts.microbatches);
  else
    batches.emplace(options.source, facts.manifest, facts.microbatches);
  positions = batches->positions();
  batches->count(Fetches(options.fetched, facts.manifest));
  positions.insert(inputs.positions().begin(), inputs.positions().end());
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

int64_t Training::begin(sw_step *step, int64_t steps) {
  all = steps;
  checkpoints.begin(launch);
  if (options.resume)
    first = done = checkpoints.resume(step);
  if (first >= all)
    raise("the checkpoint is of step ", first, ", and --steps is ", all,
          "; nothing is left to run");
  inputs.check(all);
  batches->start(all, std::max(sw_step_deadline(step), Deadline::first),
                 reads(facts.manifest, launch, batches->positions()) ||
                     (launch.isMain() && batches->fetched().any()));
  if (checkpoints.any() && !options.sameSeed)
    inputs.foldSeeds(facts.manifest, facts.inputs);
  if (options.validation.given())
    validation.emplace(options.validation, facts.manifest, facts.inputs);
  return first;
}

void Training::beginTogether(sw_step *step, const sw_options &how) {
  bool cuda = facts.manifest.at("target").value("kind", "") == "cuda";
  if (validation)
    validation->create(how);
  // Last, since an error here occurs only in the process that prints.
  beginReports(step, how.trace > 0 && !cuda);
}

/// Facts about the run that are the same for all steps.
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

void Training::beginReports(sw_step *step, bool recorded) {
  reports = options.reports();
  measures = reports && recorded;
  if (reports && launch.isMain())
    progress.emplace(options.metrics,
                     options.resume ? std::optional(first) : std::nullopt,
                     isatty(STDERR_FILENO) != 0,
                     Progress::Amounts{batches->samples(), batches->tokens()},
                     describeRun(facts, step));
  if (progress)
    progress->begin(first, all);
}

void Training::feed(sw_step *step, int64_t number) {
  batches->set(step, number);
  inputs.set(step, number);
}

void Training::after(sw_step *step, int64_t number) {
  done = number + 1;
  StepFigures figures;
  figures.step = done;
  figures.seconds = sw_step_seconds(step);
  if (reports)
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
    progress->report(figures);
  if (options.every && done % *options.every == 0)
    checkpoints.save(step, done);
}

void Training::finish(sw_step *step) {
  if (progress)
    progress->end();
  if (!saves())
    return;
  checkpoints.save(step, done);
  checkpoints.finish();
  if (sw_interrupted() && launch.isMain())
    std::fprintf(stderr,
                 "pp-run: interrupted after step %lld, which is saved; "
                 "--resume goes on\n",
                 (long long)done);
}
