//===- StepTensors.cpp - reads and writes a step's tensors ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training/StepTensors.h"
#include "Training/InitialValues.h"

#include "DType.h"
#include "Files/AtomicFile.h"
#include "Files/MappedFile.h"
#include "Files/Safetensors.h"
#include "Training/SaveResults.h"
#include "stagewright/Runtime/Error.h"

#include <set>

namespace stagewright::runtime {

using json = nlohmann::json;

TensorDescription describe(int (*query)(const sw_program *, int64_t, int64_t,
                                        int64_t *, sw_tensor *),
                           const sw_program *program, int64_t index,
                           int64_t microbatches) {
  TensorDescription it;
  sw_tensor tensor;
  if (query(program, index, microbatches, &it.position, &tensor) != 0)
    raiseLastError();
  it.dtype = sw_dtype(tensor.dtype);
  it.shape.assign(tensor.shape, tensor.shape + tensor.rank);
  return it;
}

namespace {

std::string label(const json &argument) {
  return argument.at("position").dump() + " ('" +
         argument.at("name").get<std::string>() + "')";
}

/// The bytes of one microbatch, `count` times.
std::vector<std::byte> repeated(std::span<const std::byte> one, int64_t count) {
  std::vector<std::byte> all;
  all.reserve(one.size() * size_t(count));
  for (int64_t m = 0; m < count; ++m)
    all.insert(all.end(), one.begin(), one.end());
  return all;
}

/// Checks the shape of a batch argument, because one microbatch and a whole
/// batch are easily confused; repeats the microbatch if `repeat`.
void prepareBatch(const json &argument, const TensorDescription &expected,
                  TensorView &tensor, bool repeat,
                  std::vector<std::byte> &storage) {
  std::vector<int64_t> one(expected.shape.begin() + 1, expected.shape.end());
  if (!repeat) {
    if (tensor.shape == one)
      raise("argument ", label(argument), " has shape ",
            printShape(tensor.shape), ", expected ", printShape(expected.shape),
            " with the microbatches in front; --repeat-microbatch repeats "
            "a single one, and --data=",
            argument.at("name").get<std::string>(),
            "=FILE takes others from a file at each step");
    return;
  }
  if (tensor.shape != one)
    raise("argument ", label(argument), " has shape ", printShape(tensor.shape),
          ", but --repeat-microbatch expects one "
          "microbatch, ",
          printShape(one));
  storage = repeated(tensor.bytes, expected.shape[0]);
  tensor.shape = expected.shape;
  tensor.bytes = storage;
}

} // namespace

void setInputs(const sw_program *program, sw_step *step, const json &manifest,
               int64_t microbatches, const std::set<int64_t> &fed,
               const InputSources &from) {
  const std::string &path = from.path;
  std::optional<MappedFile> file;
  std::map<std::string, TensorView> tensors;
  if (!path.empty()) {
    file.emplace(path);
    try {
      tensors = parseSafetensors(file->bytes());
    } catch (const Error &error) {
      raise("'", path, "': ", error.what());
    }
  }

  std::set<std::string> used;
  const json &arguments = manifest.at("arguments");
  for (size_t i = 0; i < arguments.size(); ++i) {
    const json &argument = arguments[i];
    std::string role = argument.at("role");
    if (role == "microbatch")
      continue;
    TensorDescription it =
        describe(sw_argument, program, int64_t(i), microbatches);
    std::string name = std::to_string(it.position);
    used.insert(name);
    if (fed.count(it.position))
      continue;
    auto found = tensors.find(name);
    // The artifact holds its data, or it is 0 at first.
    bool known =
        argument.contains("symbol") || argument.value("averaging", false);
    if (found == tensors.end() && known)
      continue;
    TensorView tensor;
    std::vector<std::byte> storage;
    if (found != tensors.end()) {
      tensor = found->second;
      if (role == "batch")
        prepareBatch(argument, it, tensor, from.repeat, storage);
    } else if (from.init) {
      storage = initialValue(argument, it, *from.init);
      tensor = {it.dtype, it.shape, storage};
    } else {
      raise("'", path, "' has no tensor '", name, "' for argument ",
            label(argument), "; --init=SEED initialises it");
    }
    sw_tensor given = {tensor.dtype, int32_t(tensor.shape.size()),
                       tensor.shape.data(),
                       const_cast<std::byte *>(tensor.bytes.data())};
    if (sw_step_set_input(step, it.position, &given) != 0)
      raiseLastError();
  }
  for (auto &[name, tensor] : tensors)
    if (!used.count(name))
      raise("'", path, "' has a tensor '", name,
            "', which belongs to no argument; the step has ", used.size());
}

void writeOutputs(const sw_program *program, sw_step *step,
                  int64_t microbatches, bool write, const std::string &path) {
  std::map<std::string, TensorType> tensors;
  std::map<std::string, WholeResult> byName;
  for (int64_t i = 0; i < sw_result_count(program); ++i) {
    TensorDescription it = describe(sw_result, program, i, microbatches);
    std::string name = std::to_string(it.position);
    tensors[name] = {it.dtype, it.shape};
    byName[name] = {it.position, tensors[name].bytes()};
  }
  std::vector<WholeResult> results;
  for (const auto &[name, result] : byName)
    results.push_back(result);
  std::optional<AtomicFile> file;
  BackgroundWriter writer;
  if (write)
    writer.run({}, 0, [&](std::span<const std::byte>) {
      file.emplace(path);
      file->write(safetensorsHeader(tensors));
    });
  saveResults(step, results, write, writer,
              [&](std::span<const std::byte> bytes) { file->write(bytes); });
  waitTogether(writer);
  writer.finish();
  if (write)
    file->commit();
}

std::optional<double> readNumber(const sw_program *program, sw_step *step,
                                 size_t index, int64_t microbatches) {
  TensorDescription it =
      describe(sw_result, program, int64_t(index), microbatches);
  float single = 0;
  double wide = 0;
  bool isSingle = it.dtype == SW_F32;
  if (!it.shape.empty() || (!isSingle && it.dtype != SW_F64))
    return std::nullopt;
  sw_tensor wanted = {it.dtype, 0, it.shape.data(),
                      isSingle ? static_cast<void *>(&single) : &wide};
  if (sw_step_get_output(step, it.position, &wanted) != 0)
    raiseLastError();
  return isSingle ? single : wide;
}

std::optional<double> readLoss(const sw_program *program, sw_step *step,
                               const json &manifest, int64_t microbatches) {
  const json &results = manifest.at("results");
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].at("role") == "loss")
      return readNumber(program, step, i, microbatches);
  return std::nullopt;
}

} // namespace stagewright::runtime
