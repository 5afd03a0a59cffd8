//===- Validation.cpp - the loss on validation data -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training/Validation.h"
#include "DType.h"
#include "Files/Safetensors.h"
#include "Training/StepTensors.h"
#include "stagewright/Runtime/Error.h"

namespace stagewright::runtime {

using nlohmann::json;

Validation::Validation(const ValidationOptions &options, const json &training,
                       const std::string &inputs)
    : options(options), program(sw_load(options.artifact.c_str()), sw_unload),
      step(nullptr, sw_step_destroy), inputs(inputs) {
  if (!program)
    raise("--validation: '", options.artifact, "': ", sw_error());
  manifest = json::parse(sw_manifest(program.get()));
  size_t ranks = manifest.at("ranks").size();
  if (ranks != training.at("ranks").size())
    raise("--validation: '", options.artifact, "' has ", ranks,
          ranks == 1 ? " rank" : " ranks", ", the step has ",
          training.at("ranks").size(),
          "; compile it with --stages=", training.at("ranks").size());
  microbatches = manifest.at("microbatches");
  batches.emplace(options.data, "--validation-data", std::nullopt, manifest,
                  microbatches);
  count = options.steps.value_or(batches->steps());
  if (count > batches->steps())
    raise("--validation-steps is ", count, ", but the data is for ",
          batches->steps());
  findLoss();
  bind(training);
}

void Validation::create(const sw_options &how) {
  bool cuda = manifest.at("target").value("kind", "") == "cuda";
  if (cuda && sw_process_count() > 1)
    raise("--validation: ranks on GPUs in processes of their own run one "
          "artifact; validate in a run of its own, or with the ranks as "
          "threads");
  int64_t number = sw_process();
  sw_options own = how;
  own.microbatches = microbatches;
  own.trace = own.profile = 0;
  step.reset(sw_step_create(program.get(), &own));
  if (!step)
    raise("--validation: ", sw_error());
  if (sw_process() != number)
    raise("--validation: '", options.artifact,
          "' has its ranks on other "
          "hosts than the step; compile both for the same cluster");
  setConstants();
}

/// Finds the result with the role 'loss', or else the only scalar result.
void Validation::findLoss() {
  const json &results = manifest.at("results");
  std::vector<size_t> numbers;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].at("role") == "loss") {
      numbers = {i};
      break;
    }
    if (results[i].at("shape").empty())
      numbers.push_back(i);
  }
  if (numbers.size() != 1)
    raise("--validation: '", options.artifact, "' has no loss, but ",
          numbers.size(),
          " results that are numbers; import it with the "
          "role 'loss' for one");
  loss = numbers[0];
}

/// The entry of `list` with that name and role; null if none.
static const json *find(const json &list, const std::string &name,
                        const std::string &role) {
  for (const json &it : list)
    if (it.at("name") == name && it.at("role") == role)
      return &it;
  return nullptr;
}

/// Arguments that are also results of the training step (parameters) are copied
/// from it in every validation; the others are set once, from its inputs.
void Validation::bind(const json &training) {
  for (int64_t i = 0; i < sw_argument_count(program.get()); ++i) {
    const json &argument = manifest.at("arguments")[size_t(i)];
    std::string role = argument.at("role"), name = argument.at("name");
    TensorDescription it =
        describe(sw_argument, program.get(), i, microbatches);
    if (role == "microbatch" || argument.contains("symbol") ||
        batches->positions().count(it.position))
      continue;
    if (role == "batch")
      raise("--validation-data has no samples for batch argument '", name, "'");
    const json *result = find(training.at("results"), name, role);
    const json *same = find(training.at("arguments"), name, role);
    if (!same)
      raise("--validation: '", options.artifact, "' takes ", role, " '", name,
            "', which the step does not have; import both from one model");
    auto shape = same->at("shape").get<std::vector<int64_t>>();
    auto dtype = *dtypeFromName(same->at("dtype").get<std::string>());
    if (dtype != it.dtype || shape != it.shape)
      raise("--validation: ", role, " '", name, "' is ", dtypeName(it.dtype),
            printShape(it.shape), ", in the step ", dtypeName(dtype),
            printShape(shape));
    const json &from = result ? *result : *same;
    (result ? shared : constants)
        .push_back({from.at("position"), it.position, dtype, shape});
  }
}

void Validation::setConstants() {
  if (constants.empty())
    return;
  MappedFile file(inputs);
  auto tensors = parseSafetensors(file.bytes());
  for (const Shared &it : constants) {
    auto value = tensors.find(std::to_string(it.from));
    if (value == tensors.end())
      raise("--validation: '", inputs, "' has no tensor '", it.from, "'");
    sw_tensor tensor = {it.dtype, int32_t(it.shape.size()), it.shape.data(),
                        const_cast<std::byte *>(value->second.bytes.data())};
    if (sw_step_set_input(step.get(), it.to, &tensor) != 0)
      raiseLastError();
  }
}

double Validation::run(sw_step *training, const Launch &launch) {
  std::vector<std::byte> bytes;
  for (const Shared &it : shared) {
    bytes.resize(size_t(tensorBytes(it.dtype, it.shape).value_or(0)));
    sw_tensor tensor = {it.dtype, int32_t(it.shape.size()), it.shape.data(),
                        bytes.data()};
    if (sw_step_get_output(training, it.from, &tensor) != 0 ||
        sw_broadcast(bytes.data(), int64_t(bytes.size())) != 0 ||
        sw_step_set_input(step.get(), it.to, &tensor) != 0)
      raiseLastError();
  }
  double sum = 0;
  for (int64_t number = 0; number < count; ++number) {
    batches->set(step.get(), number);
    if (sw_step_run(step.get()) != 0)
      launch.raiseEverywhere();
    sum +=
        readNumber(program.get(), step.get(), loss, microbatches).value_or(0);
  }
  return sum / double(count);
}

} // namespace stagewright::runtime
