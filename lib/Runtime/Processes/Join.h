//===- Join.h - collectives before and after a step -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collective functions of all processes, for ranks on CPUs and on GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_JOIN_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_JOIN_H

#include "Memory/HostTensors.h"
#include "Processes/Processes.h"
#include "Runner.h"

namespace stagewright::runtime {

/// Checks that all processes have the same program, and the same options as far
/// as they determine messages, and that the hosts of the processes fit its
/// plan. Gives every process the number of its rank. Throws in all if a check
/// fails.
void joinRanks(const Artifact &artifact, const StepOptions &options,
               Processes &processes);

/// Copies a part of a result as `copyOut` does, to memory of rank 0, from all
/// processes, one after another. Each reads buffers of its own rank with `read`
/// and needs the same layouts. Rank 0 receives the part of one buffer at a
/// time.
void gatherResult(ProcessGroup &group, const HostArenas &view, size_t result,
                  ByteRange range, std::byte *to, const ReadBuffer &read);

/// Sends the records of all ranks to rank 0; returns whether this is rank 0.
bool gatherRecords(Processes &processes,
                   const std::vector<std::unique_ptr<Recorder>> &records);

/// On rank 0, the traffic of all ranks, of which each process passes its own;
/// empty on other ranks.
std::vector<Traffic> gatherTraffic(ProcessGroup &group,
                                   std::vector<Traffic> traffic);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_JOIN_H
