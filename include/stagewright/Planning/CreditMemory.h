//===- CreditMemory.h - memory of ready-first execution ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_CREDITMEMORY_H
#define STAGEWRIGHT_PLANNING_CREDITMEMORY_H

#include "stagewright/Planning/Placed.h"
#include "stagewright/Simulation/AssignCredits.h"

namespace stagewright {

/// What `stages` hold if ranks run the actions of `schedule` as they become
/// ready (Scheduling/ReadyFirst.h), in bytes. Without an order of the actions
/// no two values share a place: each value that a stage keeps, or gets from
/// another stage, has a ring, also if both stages are on one device. The limits
/// are the bytes that are left for rings. `ranks`: by stage, those of its
/// devices; of devices that share samples, that of the first. The error names a
/// rank whose memory is too small even without these rings.
Result<CreditMemory> creditMemoryOf(const Problem &problem,
                                    const std::vector<StagePlan> &stages,
                                    const ReplicaRanks &ranks,
                                    const Schedule &schedule);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_CREDITMEMORY_H
