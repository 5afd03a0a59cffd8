//===- Metrics.h - figures of every step in a file --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRAINING_METRICS_H
#define STAGEWRIGHT_LIB_RUNTIME_TRAINING_METRICS_H

#include "stagewright/Runtime/Training.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace stagewright::runtime {

/// A line of JSON for each step, which `stagewright report` reads.
class Metrics {
public:
  /// The first line also holds `run`. A run that resumes after step `resumed`
  /// keeps the lines up to it. `samples` and `tokens` are those of a step; 0:
  /// unknown. Throws if the file cannot be written.
  Metrics(const std::string &path, std::optional<int64_t> resumed,
          int64_t samples, int64_t tokens, nlohmann::json run);
  void write(const StepFigures &figures);

private:
  std::ofstream file;
  int64_t samples, tokens;
  nlohmann::json run;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_METRICS_H
