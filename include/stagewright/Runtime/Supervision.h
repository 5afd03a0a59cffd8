//===- Supervision.h - processes of a run, and restarts ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parent of a run: `runChildren` starts a process for every rank on this
// host and ends all if one fails; `supervise` starts a whole run as a command,
// through a launcher (mpirun) if there is one, and restarts it from its last
// checkpoint after a fault. Processes that they start die with their parent.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RUNTIME_SUPERVISION_H
#define STAGEWRIGHT_RUNTIME_SUPERVISION_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagewright::runtime {

/// Prints one line for the user.
using PrintLine = void (*)(const std::string &line);

/// Starts `count` children, which communicate over sockets, and waits for all;
/// returns the exit status. In a child it returns nullopt, and the child goes
/// on as one of the processes. If a child fails or dies, one error is printed,
/// and the others have `grace` seconds to end. SIGTERM and SIGINT are forwarded
/// to the children.
std::optional<int> runChildren(int64_t count, double grace, PrintLine print);

struct SupervisorOptions {
  std::optional<int64_t> restarts;
  std::string launcher;

  bool asked() const { return restarts || !launcher.empty(); }
};

/// Runs `command`, a pp-run without these options, and returns the exit status
/// of its last run. Before a restart all its descendants have ended. Restarts
/// get --resume if `checkpoints`, the folder of the run's checkpoints, has one.
/// A run that is stopped (SIGSTOP) for more than `stopTimeout` seconds counts
/// as failed. SIGTERM and SIGINT are forwarded to the run, which saves its last
/// step and exits with status 0.
int supervise(const SupervisorOptions &options,
              std::vector<std::string> command, const std::string &checkpoints,
              double stopTimeout, PrintLine print);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_RUNTIME_SUPERVISION_H
