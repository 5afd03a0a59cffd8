//===- ChildProcesses.h - a process for every rank --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// pp-run starts the ranks of an artifact on this host as child processes, which
// communicate over sockets (lib/Runtime/Processes/Sockets.h), and monitors
// them. If one fails or dies, it prints one error and ends the others. The
// children die with their parent in all cases.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_CHILDPROCESSES_H
#define STAGEWRIGHT_TOOLS_PP_RUN_CHILDPROCESSES_H

#include <cstdint>
#include <optional>

/// Starts `count` children and waits for all; returns the exit status. In a
/// child it returns nullopt, and the child goes on as one of the processes.
/// `grace`: the seconds that the other children have to end after one has
/// failed.
std::optional<int> runChildren(int64_t count, double grace);

#endif // STAGEWRIGHT_TOOLS_PP_RUN_CHILDPROCESSES_H
