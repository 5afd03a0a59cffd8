//===- StepInputs.cpp - arguments that change with the step ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training/StepInputs.h"
#include "DType.h"
#include "Files/Safetensors.h"
#include "Training/StepTensors.h"
#include "Training/Threefry.h"
#include "stagewright/Runtime/Error.h"

#include <cstring>

namespace stagewright::runtime {

using nlohmann::json;

StepInputs::StepInputs(const std::vector<std::string> &sources,
                       const json &manifest) {
  for (const std::string &text : sources) {
    SampleSource from = parseSampleSource(text);
    std::string names;
    const json *argument = nullptr;
    for (const json &it : manifest.at("arguments")) {
      if (it.at("role") != "constant" || it.contains("symbol"))
        continue;
      names +=
          (names.empty() ? "'" : "', '") + it.at("name").get<std::string>();
      if (it.at("name") == from.argument)
        argument = &it;
    }
    if (!argument)
      raise("--step-values: no constant argument is called '", from.argument,
            names.empty() ? "'; the step has none"
                          : "'; they are " + names + "'");
    Value value = {from.argument, argument->at("position"),
                   *dtypeFromName(argument->at("dtype").get<std::string>()),
                   argument->at("shape").get<std::vector<int64_t>>(), nullptr};
    value.file = std::make_unique<SampleFile>(from, value.dtype, value.shape);
    if (!places.insert(value.position).second)
      raise("--step-values: '", from.argument, "' is given twice");
    values.push_back(std::move(value));
  }
}

void StepInputs::foldSeeds(const json &manifest, const std::string &inputs) {
  for (const json &argument : manifest.at("arguments")) {
    if (argument.at("role") != "seed" || argument.contains("symbol"))
      continue;
    Seed seed = {argument.at("position"),
                 argument.at("shape").get<std::vector<int64_t>>(),
                 {}};
    std::string name = argument.at("name");
    if (inputs.empty())
      raise("seed '", name,
            "' must be in --inputs, because it changes at each step; "
            "--same-seed keeps one for all steps");
    MappedFile file(inputs);
    auto tensors = parseSafetensors(file.bytes());
    auto found = tensors.find(std::to_string(seed.position));
    if (found == tensors.end())
      raise("'", inputs, "' has no tensor '", seed.position, "' for seed '",
            name, "'");
    const TensorView &key = found->second;
    if (seed.shape.empty() || seed.shape.back() % 2 != 0 ||
        dtypeSize(key.dtype) != 4)
      raise("seed '", name, "' of type ", dtypeName(key.dtype),
            printShape(seed.shape),
            " is not a key of JAX, which has 2 or 4 words of 32 bits; "
            "--same-seed "
            "keeps it for all steps");
    seed.words.resize(key.bytes.size() / 4);
    std::memcpy(seed.words.data(), key.bytes.data(), key.bytes.size());
    seeds.push_back(std::move(seed));
  }
}

void StepInputs::check(int64_t steps) const {
  for (const Value &value : values)
    if (value.file->count() < steps)
      raise("--step-values: '", value.name, "' has values for ",
            value.file->count(), " steps, the run has ", steps,
            "; give more, or fewer --steps");
}

static void setInput(sw_step *step, int64_t position, sw_dtype dtype,
                     const std::vector<int64_t> &shape, void *data) {
  sw_tensor tensor = {dtype, int32_t(shape.size()), shape.data(), data};
  if (sw_step_set_input(step, position, &tensor) != 0)
    raiseLastError();
}

void StepInputs::set(sw_step *step, int64_t number) {
  std::vector<std::byte> bytes;
  for (Value &value : values) {
    bytes.resize(size_t(value.file->bytes()));
    value.file->read(number, bytes.data());
    setInput(step, value.position, value.dtype, value.shape, bytes.data());
  }
  for (Seed &seed : seeds) {
    std::vector<uint32_t> words(seed.words.size());
    for (size_t i = 0; i < words.size(); i += 2) {
      auto folded =
          foldIn({seed.words[i], seed.words[i + 1]}, uint32_t(number));
      words[i] = folded[0], words[i + 1] = folded[1];
    }
    setInput(step, seed.position, SW_I32, seed.shape, words.data());
  }
}

} // namespace stagewright::runtime
