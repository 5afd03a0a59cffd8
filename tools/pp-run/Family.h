//===- Family.h - a process for every rank ----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// pp-run starts the ranks of an artifact on this host as its children, which
// talk by sockets (lib/Runtime/Processes/Sockets.h), and watches them: when one
// fails or dies, it says why, once, and ends the others. Children die with
// their parent, however it ends.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_FAMILY_H
#define STAGEWRIGHT_TOOLS_PP_RUN_FAMILY_H

#include <cstdint>
#include <optional>

/// Starts `count` children and waits for all; the exit status. Null in a child,
/// which goes on as one of the processes. `grace` is how many seconds the
/// others have to end by themselves after one has failed.
std::optional<int> startFamily(int64_t count, double grace);

#endif // STAGEWRIGHT_TOOLS_PP_RUN_FAMILY_H
