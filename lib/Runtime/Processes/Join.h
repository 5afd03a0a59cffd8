//===- Join.h - what processes settle before a step -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same for ranks on processors and on devices. All of it is collective.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_JOIN_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_JOIN_H

#include "Memory/HostTensors.h"
#include "Processes/Processes.h"
#include "Runner.h"

namespace stagewright::runtime {

/// Gives every process the number of its rank, once all have the same program
/// and options and fit its plan; throws in all of them where they do not.
void joinRanks(const Artifact &artifact, const StepOptions &options,
               Processes &processes);

/// The number of the result at `position`; only rank 0 needs room for it.
size_t findGathered(const Assembly &assembly, const HostArenas &view,
                    int64_t position, sw_tensor tensor);

/// Brings the parts of a result to rank 0, one after the other, and puts them
/// together there in `tensor`. `view` is laid out alike in all processes; of
/// its bases each needs its own rank's.
void gatherResult(Assembly &assembly, const HostArenas &view, size_t result,
                  const sw_tensor &tensor);

/// Brings the records of all ranks to rank 0; whether this is it.
bool gatherRecords(Processes &processes,
                   const std::vector<std::unique_ptr<Recorder>> &records);

/// `traffic` of all ranks, of which each process has its own, at rank 0;
/// nothing elsewhere.
std::vector<Traffic> gatherTraffic(Assembly &assembly,
                                   std::vector<Traffic> traffic);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_JOIN_H
