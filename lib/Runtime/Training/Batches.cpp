//===- Batches.cpp - batch arguments from files or a source ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training/Batches.h"
#include "DType.h"
#include "Training/StepTensors.h"
#include "stagewright/Runtime/Error.h"

namespace stagewright::runtime {

using nlohmann::json;

/// Samples in a microbatch.
static int64_t rows(const SourceArgument &it) {
  return it.shape.empty() ? 1 : it.shape[0];
}

Batches::Batches(const std::vector<std::string> &sources, const char *option,
                 std::optional<uint64_t> seed, const json &manifest,
                 int64_t microbatches)
    : microbatches(microbatches) {
  for (const std::string &text : sources)
    bind(text, option, manifest);
  if (files.empty())
    return;
  auto batches = std::make_shared<FileBatches>(std::move(files), perStep, seed);
  inFiles = batches->samples();
  feed.emplace([batches](int64_t step) { return batches->read(step); }, 1);
}

Batches::Batches(const SourceOptions &from, const json &manifest,
                 int64_t microbatches)
    : from(from), microbatches(microbatches) {
  for (const json &it : manifest.at("arguments"))
    if (it.at("role") == "batch") {
      const SourceArgument &made = add(it);
      if (perStep == 0 && it.at("batch_dim") == 0)
        perStep = rows(made) * microbatches;
    }
  if (arguments.empty())
    raise("--source: the step has no batch argument");
}

Batches::~Batches() {
  if (source)
    source->stop();
}

void Batches::start(int64_t end, double seconds, bool read) {
  if (from.what.empty())
    return;
  std::vector<SourceArgument> wanted;
  for (const Argument &it : arguments)
    wanted.push_back(it.of);
  if (!read) {
    feed.emplace([wanted, count = microbatches](
                     int64_t) { return zeroBatch(wanted, count); },
                 from.ahead, end);
    return;
  }
  source = std::make_shared<BatchSource>(from.what, from.seed, wanted,
                                         microbatches, seconds);
  feed.emplace([source = source](int64_t step) { return source->read(step); },
               from.ahead, end);
}

/// The batch argument called `name`; the error lists all names.
static const json &findBatch(const std::string &name, const char *option,
                             const json &manifest) {
  std::string names;
  for (const json &it : manifest.at("arguments")) {
    if (it.at("role") != "batch")
      continue;
    if (it.at("name") == name)
      return it;
    names += (names.empty() ? "'" : "', '") + it.at("name").get<std::string>();
  }
  raise(option, ": no batch argument is called '", name,
        names.empty() ? "'; the step has none" : "'; they are " + names + "'");
}

const SourceArgument &Batches::add(const json &it) {
  int64_t position = it.at("position");
  places.insert(position);
  arguments.push_back(
      {position,
       {it.at("name"), *dtypeFromName(it.at("dtype").get<std::string>()),
        it.at("shape").get<std::vector<int64_t>>()}});
  return arguments.back().of;
}

void Batches::bind(const std::string &text, const char *option,
                   const json &manifest) {
  SampleSource file = parseSampleSource(text);
  const json &argument = findBatch(file.argument, option, manifest);
  if (argument.at("batch_dim") != 0)
    raise(option, ": the batch of '", file.argument, "' lies in dimension ",
          argument.at("batch_dim").dump(), ", only dimension 0 can be read");
  if (places.count(argument.at("position")))
    raise(option, ": '", file.argument, "' is given twice");
  const SourceArgument &it = add(argument);
  if (perStep && perStep != rows(it) * microbatches)
    raise(option, ": '", file.argument, "' has ", rows(it),
          " samples in a microbatch, others have ", perStep / microbatches);
  perStep = rows(it) * microbatches;
  std::vector<int64_t> sample(it.shape.begin() + !it.shape.empty(),
                              it.shape.end());
  files.push_back(std::make_unique<SampleFile>(file, it.dtype, sample));
  if (arguments.size() == 1 && (it.dtype == SW_I32 || it.dtype == SW_I64))
    tokensPerStep = files[0]->bytes() / dtypeSize(it.dtype) * perStep;
}

void Batches::set(sw_step *step, int64_t number) {
  if (!feed)
    return;
  // Less than the deadline, since other processes wait for this one meanwhile.
  if (source)
    source->setLimit(0.75 * sw_step_deadline(step));
  const Batch &batch = feed->take(number);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const SourceArgument &it = arguments[i].of;
    fetches.count(arguments[i].position, batch[i], microbatches);
    std::vector<int64_t> shape = {microbatches};
    shape.insert(shape.end(), it.shape.begin(), it.shape.end());
    sw_tensor tensor = {it.dtype, int32_t(shape.size()), shape.data(),
                        const_cast<std::byte *>(batch[i].data())};
    if (sw_step_set_input(step, arguments[i].position, &tensor) != 0)
      raiseLastError();
  }
}

} // namespace stagewright::runtime
