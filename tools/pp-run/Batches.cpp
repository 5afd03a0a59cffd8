//===- Batches.cpp - batch arguments from files ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Batches.h"
#include "DType.h"
#include "Error.h"
#include "Tensors.h"

using namespace stagewright::runtime;
using nlohmann::json;

Batches::Batches(const std::vector<std::string> &sources, const char *option,
                 std::optional<uint64_t> seed, const json &manifest,
                 int64_t microbatches) {
  for (const std::string &text : sources)
    bind(text, option, manifest, microbatches);
  if (!files.empty())
    feed.emplace(std::move(files), perStep, seed);
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

void Batches::bind(const std::string &text, const char *option,
                   const json &manifest, int64_t microbatches) {
  SampleSource from = parseSampleSource(text);
  const json &argument = findBatch(from.argument, option, manifest);
  if (argument.at("batch_dim") != 0)
    raise(option, ": the batch of '", from.argument, "' lies in dimension ",
          argument.at("batch_dim").dump(), ", only dimension 0 can be read");
  Argument it;
  it.position = argument.at("position");
  it.dtype = *dtypeFromName(argument.at("dtype").get<std::string>());
  auto shape = argument.at("shape").get<std::vector<int64_t>>();
  int64_t rows = shape.empty() ? 1 : shape[0];
  if (perStep && perStep != rows * microbatches)
    raise(option, ": '", from.argument, "' has ", rows,
          " samples in a microbatch, others have ", perStep / microbatches);
  perStep = rows * microbatches;
  std::vector<int64_t> sample(shape.begin() + !shape.empty(), shape.end());
  files.push_back(std::make_unique<SampleFile>(from, it.dtype, sample));
  if (!places.insert(it.position).second)
    raise(option, ": '", from.argument, "' is given twice");
  bool tokens = it.dtype == SW_I32 || it.dtype == SW_I64;
  if (arguments.empty() && tokens)
    tokensPerStep = files[0]->bytes() / dtypeSize(it.dtype) * perStep;
  it.shape = shape;
  it.shape.insert(it.shape.begin(), microbatches);
  arguments.push_back(std::move(it));
}

void Batches::set(sw_step *step, int64_t number) {
  if (!feed)
    return;
  const auto &batch = feed->take(number);
  for (size_t i = 0; i < arguments.size(); ++i) {
    sw_tensor tensor = {arguments[i].dtype, int32_t(arguments[i].shape.size()),
                        arguments[i].shape.data(),
                        const_cast<std::byte *>(batch[i].data())};
    if (sw_step_set_input(step, arguments[i].position, &tensor) != 0)
      raiseLastError();
  }
}
