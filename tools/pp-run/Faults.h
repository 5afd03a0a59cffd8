//===- Faults.h - handling faults of a run ----------------------*- C++ -*-===//
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

/// After SIGTERM, SIGINT or SIGUSR1 (which mpirun forwards) the run ends after
/// the current step; the same signal again ends it at once.
void catchSignals();

/// Whether a step with a NaN or infinite loss ends the run: as `asked`, or if
/// that is empty, whether the step has an optimizer.
bool stopsAtNan(const std::string &asked, const nlohmann::json &manifest);

/// Throws if the loss is infinite or NaN.
void requireFinite(std::optional<double> loss);

/// Prints the deadline, which is how long a rank may make no progress: at the
/// start, and after a step if the deadline has more than doubled or halved.
class DeadlinePrinter {
public:
  /// `given`: the user's deadline in seconds, or 0. If not `prints`, nothing is
  /// printed.
  DeadlinePrinter(bool prints, double given);
  void after(const sw_step *step);

private:
  bool prints;
  double given, printed = 0;
};

#endif // STAGEWRIGHT_TOOLS_PP_RUN_FAULTS_H
