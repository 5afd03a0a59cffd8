//===- Supervisor.h - restarting runs after a fault -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With --max-restarts or --launcher pp-run is the parent of the run: it starts
// itself without these options, through the launcher (mpirun) if there is one,
// waits, and after a fault restarts the run from its last checkpoint. Before
// that, all descendants have ended; they also end if the parent dies. SIGTERM
// and SIGINT are forwarded to the run, which saves its last step and exits with
// status 0.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_SUPERVISOR_H
#define STAGEWRIGHT_TOOLS_PP_RUN_SUPERVISOR_H

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct SupervisorOptions {
  std::optional<int64_t> restarts;
  std::string launcher;

  bool asked() const { return restarts || !launcher.empty(); }
};

void declareSupervisor(CLI::App &app, SupervisorOptions &options);

/// Returns the exit status of the last run. `arguments` are those of pp-run,
/// `checkpoints` is the folder of the run's checkpoints. A run that is stopped
/// (SIGSTOP) for more than `stopTimeout` seconds counts as failed.
int supervise(const SupervisorOptions &options,
              const std::vector<std::string> &arguments,
              const std::string &checkpoints, double stopTimeout);

#endif // STAGEWRIGHT_TOOLS_PP_RUN_SUPERVISOR_H
