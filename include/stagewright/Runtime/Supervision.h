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
// checkpoint after a fault. The processes that they start themselves die with
// their parent.
//
// Both take over the process and are for programs like pp-run: no other thread
// may exist, and handlers or masks of SIGTERM and SIGINT stay as they set them.
// So the caller exits with the status that they return. Both throw `Error`.
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
/// returns 0, or how they failed: 3 after a fault, 1 after an error in what the
/// user gave. In a child it returns nullopt, and the child goes on as one of
/// the processes. If a child fails or dies, the others have `grace` seconds to
/// end and are then killed; the error is printed, unless the children have
/// printed it. SIGTERM and SIGINT are forwarded to the children.
std::optional<int> runChildren(int64_t count, double grace, PrintLine print);

struct SupervisorOptions {
  std::optional<int64_t> restarts; ///< At most so many, after faults.
  std::string launcher;            ///< A command such as "mpirun -n 4".

  bool asked() const { return restarts || !launcher.empty(); }
};

/// Runs `command`, a pp-run without these options, and returns the exit status
/// of its last run, or 3 if that died, hung, or had a fault and no restart was
/// left. Before a restart all descendants of this process have been killed.
/// Restarts get --resume if `checkpoints`, the folder of the run's checkpoints,
/// has one. A run that is stopped (SIGSTOP) for more than `stopTimeout` seconds
/// counts as failed. SIGTERM and SIGINT are forwarded to the run (through a
/// launcher as SIGUSR1), which then saves its last step, if it has checkpoints,
/// and ends.
int supervise(const SupervisorOptions &options,
              std::vector<std::string> command, const std::string &checkpoints,
              double stopTimeout, PrintLine print);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_RUNTIME_SUPERVISION_H
