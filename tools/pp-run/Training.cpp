//===- Training.cpp - runs of many steps ----------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training.h"
#include "DType.h"

#include <csignal>
#include <cstdio>
#include <unistd.h>

using namespace stagewright::runtime;
using nlohmann::json;

static volatile std::sig_atomic_t asked = 0;

static void noteSignal(int) { asked = 1; }

bool Training::interrupted() { return asked != 0; }

void declareTraining(CLI::App &app, TrainingOptions &options) {
  const char *group = "Training: steps with an optimizer";
  app.add_option("--data", options.data,
                 "Samples of a batch argument, by its name: an .npy file, or "
                 "a .bin file of 16-bit tokens; a file of one dimension is "
                 "cut into windows, from element SHIFT on")
      ->type_name("NAME=FILE[+SHIFT]")
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
                 "Where to write a line of JSON for every step")
      ->type_name("FILE.jsonl")
      ->group(group);
}

void checkTraining(const TrainingOptions &options) {
  if (options.every < 0)
    raise("--checkpoint-every is ", options.every, ", expected at least 1");
  if (options.keep < 1)
    raise("--keep is ", options.keep, ", expected at least 1");
  if (options.checkpoints.empty() && (options.every || options.resume))
    raise(options.resume ? "--resume" : "--checkpoint-every",
          " needs --checkpoints=FOLDER");
  if (options.seed && options.data.empty())
    raise("--shuffle needs --data");
}

Training::Training(const TrainingOptions &options, const sw_program *program,
                   const json &manifest, int64_t microbatches)
    : options(options), program(program), manifest(manifest),
      microbatches(microbatches) {
  std::vector<std::unique_ptr<SampleFile>> files;
  int64_t perStep = 0;
  for (const std::string &text : options.data) {
    SampleSource from = parseSampleSource(text);
    std::string names;
    const json *argument = nullptr;
    for (const json &it : manifest.at("arguments"))
      if (it.at("role") == "batch") {
        names +=
            (names.empty() ? "'" : "', '") + it.at("name").get<std::string>();
        if (it.at("name") == from.argument)
          argument = &it;
      }
    if (!argument)
      raise("--data: no batch argument is called '", from.argument,
            names.empty() ? "'; the step has none"
                          : "'; they are " + names + "'");
    if (argument->at("batch_dim") != 0)
      raise("--data: the batch of '", from.argument, "' lies in dimension ",
            argument->at("batch_dim").dump(), ", only dimension 0 can be read");
    Fed fed;
    fed.position = argument->at("position");
    fed.dtype = *dtypeFromName(argument->at("dtype").get<std::string>());
    auto shape = argument->at("shape").get<std::vector<int64_t>>();
    int64_t rows = shape.empty() ? 1 : shape[0];
    if (perStep && perStep != rows * microbatches)
      raise("--data: '", from.argument, "' has ", rows,
            " samples in a microbatch, others have ", perStep / microbatches);
    perStep = rows * microbatches;
    std::vector<int64_t> sample(shape.begin() + !shape.empty(), shape.end());
    files.push_back(std::make_unique<SampleFile>(from, fed.dtype, sample));
    if (!positions.insert(fed.position).second)
      raise("--data: '", from.argument, "' is given twice");
    fed.shape = shape;
    fed.shape.insert(fed.shape.begin(), microbatches);
    if (arguments.empty())
      elements = files[0]->bytes() / dtypeSize(fed.dtype) * perStep;
    arguments.push_back(std::move(fed));
  }
  if (!files.empty())
    source.emplace(std::move(files), perStep, options.seed);
  if (!options.checkpoints.empty() && program)
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

int64_t Training::begin(sw_step *step, bool alone) {
  began = std::chrono::steady_clock::now();
  bool trains = false;
  forReplaced(manifest, [&](auto &&...) { trains = true; });
  if (writer && !trains)
    raise("--checkpoints: the step has no optimizer, so nothing changes; "
          "import the model with the option 'update'");
  if (options.resume) {
    Checkpoint from = Checkpoint::newest(options.checkpoints);
    forReplaced(manifest, [&](const std::string &role, const json &argument,
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
  if (writer && alone) {
    std::signal(SIGINT, noteSignal);
    std::signal(SIGTERM, noteSignal);
  }
  if (!options.metrics.empty()) {
    metrics.open(options.metrics,
                 options.resume ? std::ios::app : std::ios::trunc);
    if (!metrics)
      raise("cannot write '", options.metrics, "'");
  }
  return first;
}

void Training::feed(sw_step *step, int64_t number) {
  if (!source)
    return;
  const auto &batch = source->take(number);
  for (size_t i = 0; i < arguments.size(); ++i) {
    sw_tensor tensor = {arguments[i].dtype, int32_t(arguments[i].shape.size()),
                        arguments[i].shape.data(),
                        const_cast<std::byte *>(batch[i].data())};
    if (sw_step_set_input(step, arguments[i].position, &tensor) != 0)
      throw Error(sw_error());
  }
}

void Training::after(sw_step *step, int64_t number, int64_t all, bool speaks) {
  done = number + 1;
  bool shows = isatty(STDERR_FILENO) != 0 && (source || writer);
  if (metrics.is_open() || shows) {
    std::optional<double> loss =
        readLoss(program, step, manifest, microbatches);
    double seconds = sw_step_seconds(step);
    if (speaks && metrics.is_open()) {
      json line = {{"step", done}, {"loss", nullptr}, {"seconds", seconds}};
      if (loss)
        line["loss"] = *loss;
      if (elements)
        line["elements_per_second"] = double(elements) / seconds;
      metrics << line.dump() << std::endl;
    }
    if (speaks && shows) {
      double passed = std::chrono::duration<double>(
                          std::chrono::steady_clock::now() - began)
                          .count();
      std::fprintf(stderr,
                   "\rstep %lld of %lld  loss %.5g  %.3g elements/s  %.0f s "
                   "left \033[K",
                   (long long)done, (long long)all, loss.value_or(0),
                   double(elements) / seconds,
                   passed / double(done - first) * double(all - done));
      if (done == all)
        std::fputc('\n', stderr);
    }
  }
  if (writer && options.every && done % options.every == 0)
    save(step, done, speaks);
}

void Training::save(sw_step *step, int64_t steps, bool speaks) {
  Snapshot snapshot;
  snapshot.step = steps;
  forReplaced(
      manifest, [&](const std::string &role, const json &, const json &result) {
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
  if (speaks)
    writer->write(std::move(snapshot));
  saved = steps;
}

void Training::finish(sw_step *step, bool speaks) {
  if (!writer)
    return;
  if (saved != done)
    save(step, done, speaks);
  writer->finish();
  if (interrupted() && speaks)
    std::fprintf(stderr,
                 "\npp-run: interrupted after step %lld, which is saved; "
                 "--resume goes on\n",
                 (long long)done);
}
