//===- Join.h - collectives before and after a step -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For ranks on CPUs and on devices. All but `findGathered` are collective.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_JOIN_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_JOIN_H

#include "Memory/HostTensors.h"
#include "Processes/Processes.h"
#include "Runner.h"

namespace stagewright::runtime {

/// Checks that all processes have the same program and options and fit its
/// plan, and gives every process the number of its rank. Throws in all if a
/// check fails.
void joinRanks(const Artifact &artifact, const StepOptions &options,
               Processes &processes);

/// The index of the result at `position`; only rank 0 needs memory for it.
size_t findGathered(const Assembly &assembly, const HostArenas &view,
                    int64_t position, sw_tensor tensor);

/// Sends the parts of a result to rank 0, one after another, which assembles
/// them in `tensor`. `view` has the same layouts in all processes, and in each
/// at least the base of its own rank.
void gatherResult(Assembly &assembly, const HostArenas &view, size_t result,
                  const sw_tensor &tensor);

/// Sends the records of all ranks to rank 0; returns whether this is rank 0.
bool gatherRecords(Processes &processes,
                   const std::vector<std::unique_ptr<Recorder>> &records);

/// On rank 0, the traffic of all ranks, of which each process passes its own;
/// empty on other ranks.
std::vector<Traffic> gatherTraffic(Assembly &assembly,
                                   std::vector<Traffic> traffic);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_JOIN_H
