//===- Flags.h - the command line of pp-run ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_FLAGS_H
#define STAGEWRIGHT_TOOLS_PP_RUN_FLAGS_H

#include "Report.h"
#include "Training.h"

#include "stagewright/Runtime/Launch.h"
#include "stagewright/Runtime/Supervision.h"

#include <CLI/CLI.hpp>

namespace stagewright::runtime {

struct Options {
  std::string artifact, inputs, outputs, profile, info, devices, transport, nan,
      plans, dilate, pace;
  std::vector<std::string> trace;
  std::optional<int64_t> microbatches;
  std::optional<uint32_t> init;
  int64_t steps = 1, threads = 1;
  bool repeat = false, check = false, pin = false, json = false;
  std::string explainTime; ///< cluster whose rates are used; empty: none
  bool direct = false, dry = false, processes = false, anyHosts = false,
       anyOrder = false, exact = false;
  double deadline = 0;
  RendezvousOptions rendezvous;
  TrainingOptions training;
  SupervisorOptions supervisor;

  Figures figures() const { return {!profile.empty(), check, 0}; }
};

void declare(CLI::App &app, Options &options);
void declareRendezvous(CLI::App &app, RendezvousOptions &options);
void declareSupervisor(CLI::App &app, SupervisorOptions &options);

/// The arguments without the flags of the supervisor.
std::vector<std::string>
withoutSupervisor(const std::vector<std::string> &arguments);

/// Throws `Error` for values that are invalid for every artifact.
void check(const Options &options);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_TOOLS_PP_RUN_FLAGS_H
