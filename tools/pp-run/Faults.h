//===- Faults.h - what a run does when something goes wrong -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_FAULTS_H
#define STAGEWRIGHT_TOOLS_PP_RUN_FAULTS_H

#include "stagewright-rt/runtime.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

/// SIGTERM, SIGINT and SIGUSR1 (which mpirun passes on) let the run end after
/// its step; the same signal once more ends it at once.
void catchSignals();

/// Whether a step ends the run that gives no numbers: as `asked`, else where
/// it has an optimizer.
bool stopsAtNan(const std::string &asked, const nlohmann::json &manifest);

/// Throws where the loss is infinite or no number.
void requireFinite(std::optional<double> loss);

/// Says how long a rank may stand still: before the first step, after it, and
/// when that has changed a lot.
class DeadlineTeller {
public:
  /// `given`: the user's, or 0. Where it does not `speak` nothing is said.
  DeadlineTeller(bool speaks, double given);
  void after(const sw_step *step);

private:
  bool speaks;
  double given, said = 0;
};

#endif // STAGEWRIGHT_TOOLS_PP_RUN_FAULTS_H
