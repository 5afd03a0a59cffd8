//===- Flags.h - the command line of pp-run ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_FLAGS_H
#define STAGEWRIGHT_TOOLS_PP_RUN_FLAGS_H

#include "stagewright/Runtime/Launch.h"
#include "stagewright/Runtime/Supervision.h"
#include "stagewright/Runtime/Training.h"

#include <CLI/CLI.hpp>

namespace stagewright::runtime {

struct Options {
  RunOptions run;
  RendezvousOptions rendezvous;
  SupervisorOptions supervisor;
  std::string info, transport, plans;
  std::string explainTime; ///< cluster whose rates are used; empty: none
  bool json = false, dry = false, processes = false;
};

void declare(CLI::App &app, Options &options);
void declareTraining(CLI::App &app, TrainingOptions &options);
void declareRendezvous(CLI::App &app, RendezvousOptions &options);
void declareSupervisor(CLI::App &app, SupervisorOptions &options);

/// The arguments without the flags of the supervisor.
std::vector<std::string>
withoutSupervisor(const std::vector<std::string> &arguments);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_TOOLS_PP_RUN_FLAGS_H
