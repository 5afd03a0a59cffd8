//===- Checkpoints.cpp - saving and restoring a run's state ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training/Checkpoints.h"
#include "DType.h"
#include "Training/SaveResults.h"

#include <algorithm>
#include <tuple>

namespace stagewright::runtime {

using nlohmann::json;

/// Throws if a new run finds checkpoints, which it would later take for its
/// own, or if a resumed run finds none. A new run removes nothing from a folder
/// with checkpoints, where another run may be writing.
static void requirePlace(const std::string &folder, bool resumes) {
  auto refuseOthers = [&] {
    if (std::optional<int64_t> newest = newestStep(folder); newest && !resumes)
      raise("'", folder, "' has a checkpoint of step ", *newest,
            " already; continue from it with --resume, or give another folder");
  };
  refuseOthers();
  recoverCheckpoints(folder);
  refuseOthers();
  if (resumes && !newestStep(folder))
    raise("'", folder,
          "' has no checkpoint; without --resume the run begins at step 1");
}

Checkpoints::Checkpoints(std::string where, int64_t keep, bool resumes,
                         const json &manifest)
    : folder(std::move(where)), keep(keep) {
  for (const json &result : manifest.at("results")) {
    std::string role = result.at("role"), name = result.at("name");
    if (role != "parameter" && role != "state")
      continue;
    for (const json &argument : manifest.at("arguments"))
      if (argument.at("role") == role && argument.at("name") == name)
        replaced.push_back(
            {{role, name, result.at("position"),
              *dtypeFromName(result.at("dtype").get<std::string>()),
              result.at("shape").get<std::vector<int64_t>>()},
             argument.at("position")});
  }
  std::sort(replaced.begin(), replaced.end(),
            [](const Replaced &a, const Replaced &b) {
              return std::tie(a.role, a.name) < std::tie(b.role, b.name);
            });
  for (const Replaced &it : replaced)
    tensors[it.role][it.name] = {it.dtype, it.shape};
  if (folder.empty())
    return;
  requirePlace(folder, resumes);
  createCheckpoints(folder);
  writer.emplace();
}

void Checkpoints::begin(const Launch &launch) {
  if (!writer)
    return;
  if (!any())
    raise("--checkpoints: the step has no optimizer, so nothing changes; "
          "import the model with the option 'update'");
  writes = launch.isMain();
}

int64_t Checkpoints::resume(sw_step *step) {
  Checkpoint from = Checkpoint::newest(folder);
  std::map<std::string, std::set<std::string>> names;
  // In the order of arguments: the state of one replica is set after the state
  // that is set for all replicas.
  std::vector<Replaced> inputs = replaced;
  std::sort(inputs.begin(), inputs.end(),
            [](const Replaced &a, const Replaced &b) {
              return a.argument < b.argument;
            });
  for (const Replaced &it : inputs) {
    // The checkpoint is of a synchronous run: the first round of averages
    // begins now.
    if (isOfAverages(it.name) && !from.hasAverages())
      continue;
    auto bytes = from.find(it.role, it.name, it.dtype, it.shape);
    sw_tensor tensor = {it.dtype, int32_t(it.shape.size()), it.shape.data(),
                        const_cast<std::byte *>(bytes.data())};
    if (sw_step_set_input(step, it.argument, &tensor) != 0)
      raiseLastError();
    names[it.role].insert(it.name);
  }
  for (const char *role : {"parameter", "state"})
    from.requireOnly(role, names[role]);
  return saved = from.step();
}

void Checkpoints::waitForWriting() {
  waitTogether(*writer);
  writer->finish();
}

void Checkpoints::save(sw_step *step, int64_t steps) {
  if (saved == steps)
    return;
  waitForWriting();
  std::vector<WholeResult> results;
  for (const Replaced &it : replaced)
    results.push_back({it.position, tensors[it.role][it.name].bytes()});
  saveCheckpoint(step, results, writes, *writer,
                 std::make_shared<CheckpointDraft>(folder, steps, tensors),
                 keep);
  saved = steps;
}

void Checkpoints::finish() {
  if (writer)
    waitForWriting();
}

std::string Checkpoints::lastGood(const Launch &launch) {
  if (!writer)
    return "";
  std::string text;
  try {
    if (launch.isMain())
      writer->finish();
  } catch (const std::exception &error) {
    text = std::string("; saving failed too: ") + error.what();
  }
  if (std::optional<int64_t> step = newestStep(folder))
    text += "; the last checkpoint is step " + std::to_string(*step) + " in '" +
            folder + "'";
  return text;
}

} // namespace stagewright::runtime
