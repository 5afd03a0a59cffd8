//===- Checkpoints.cpp - saving and restoring a run's state ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checkpoints.h"
#include "DType.h"

using namespace stagewright::runtime;
using nlohmann::json;

/// Throws if a new run finds checkpoints, which it would later take for its
/// own, or if a resumed run finds none.
static void requirePlace(const std::string &folder, bool resumes) {
  std::optional<int64_t> newest = newestStep(folder);
  if (newest && !resumes)
    raise("'", folder, "' has a checkpoint of step ", *newest,
          " already; go on from it with --resume, or give another folder");
  if (!newest && resumes)
    raise("'", folder,
          "' has no checkpoint; without --resume the run begins at step 1");
}

Checkpoints::Checkpoints(std::string where, int64_t keep, bool resumes,
                         const json &manifest)
    : folder(std::move(where)), snapshot(std::make_shared<Snapshot>()) {
  for (const json &result : manifest.at("results")) {
    std::string role = result.at("role"), name = result.at("name");
    if (role != "parameter" && role != "state")
      continue;
    for (const json &argument : manifest.at("arguments"))
      if (argument.at("role") == role && argument.at("name") == name)
        replaced.push_back(
            {argument.at("position"), result.at("position"), role, name,
             *dtypeFromName(result.at("dtype").get<std::string>()),
             result.at("shape").get<std::vector<int64_t>>()});
  }
  if (folder.empty())
    return;
  requirePlace(folder, resumes);
  writer.emplace(folder, keep);
}

void Checkpoints::begin(const Launch &launch) {
  if (!writer)
    return;
  if (!any())
    raise("--checkpoints: the step has no optimizer, so nothing changes; "
          "import the model with the option 'update'");
  writes = launch.speaks();
  for (const Replaced &it : replaced) {
    int64_t bytes = tensorBytes(it.dtype, it.shape).value_or(0);
    snapshot->tensors.push_back(
        {it.role, it.name, it.dtype, it.shape,
         std::vector<std::byte>(writes ? size_t(bytes) : 0)});
  }
}

int64_t Checkpoints::resume(sw_step *step) {
  Checkpoint from = Checkpoint::newest(folder);
  std::map<std::string, std::set<std::string>> names;
  for (const Replaced &it : replaced) {
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

/// Waits in all processes for the one that writes. The repeated call shows each
/// process that the others are alive.
void Checkpoints::waitForWriting() {
  for (int busy = 1; busy == 1;) {
    busy = sw_any(writer->isBusy(0.2));
    if (busy < 0)
      raiseLastError();
  }
  writer->finish();
}

void Checkpoints::save(sw_step *step, int64_t steps) {
  if (saved == steps)
    return;
  waitForWriting();
  for (size_t i = 0; i < replaced.size(); ++i) {
    const Replaced &it = replaced[i];
    sw_tensor wanted = {it.dtype, int32_t(it.shape.size()), it.shape.data(),
                        snapshot->tensors[i].bytes.data()};
    if (sw_step_get_output(step, it.result, &wanted) != 0)
      raiseLastError();
  }
  snapshot->step = saved = steps;
  if (writes)
    writer->write(snapshot);
}

void Checkpoints::finish() {
  if (writer)
    waitForWriting();
}

std::string Checkpoints::lastGood(const Launch &launch) {
  if (!writer)
    return "";
  if (launch.speaks())
    writer->finish();
  std::optional<int64_t> step = newestStep(folder);
  return step ? "step " + std::to_string(*step) + " in '" + folder + "'" : "";
}
