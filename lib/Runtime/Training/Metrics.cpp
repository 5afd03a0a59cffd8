//===- Metrics.cpp - figures of every step in a file ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training/Metrics.h"
#include "Files/AtomicFile.h"

#include <filesystem>

namespace stagewright::runtime {

using nlohmann::json;

/// Removes the lines of steps after `last`, which a killed run executed after
/// its checkpoint and which will run again, and an incomplete last line.
static void cutLines(const std::string &path, int64_t last) {
  if (!std::filesystem::is_regular_file(path))
    return;
  std::string kept;
  bool whole = true;
  std::ifstream old(path);
  for (std::string line; std::getline(old, line);) {
    json it = json::parse(line, nullptr, /*allow_exceptions=*/false);
    bool torn = old.eof() && it.is_discarded();
    if (torn || (it.is_object() && it.contains("step") &&
                 it["step"].is_number_integer() && it["step"] > last))
      whole = false;
    else
      kept += line + "\n";
  }
  if (whole)
    return;
  std::span<const std::byte> part(
      reinterpret_cast<const std::byte *>(kept.data()), kept.size());
  writeFileAtomically(path, part);
}

Metrics::Metrics(const std::string &path, std::optional<int64_t> resumed,
                 int64_t samples, int64_t tokens, json run)
    : samples(samples), tokens(tokens), run(std::move(run)) {
  if (resumed)
    cutLines(path, *resumed);
  file.open(path, resumed ? std::ios::app : std::ios::trunc);
  if (!file)
    raise("cannot write '", path, "'");
}

void Metrics::write(const StepFigures &figures) {
  json line = {
      {"step", figures.step}, {"loss", nullptr}, {"seconds", figures.seconds}};
  if (figures.loss)
    line["loss"] = *figures.loss;
  if (figures.validation)
    line["validation_loss"] = *figures.validation;
  if (samples)
    line["samples_per_second"] = double(samples) / figures.seconds;
  if (tokens)
    line["tokens_per_second"] = double(tokens) / figures.seconds;
  if (!figures.idle.empty()) {
    line["bubble"] = figures.bubble();
    line["idle"] = figures.idle;
  }
  if (!figures.liveBytes.empty())
    line["live_bytes"] = figures.liveBytes;
  if (!run.is_null())
    line["run"] = std::move(run);
  run = nullptr;
  file << line.dump() << std::endl;
}

} // namespace stagewright::runtime
