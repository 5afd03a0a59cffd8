//===- PlacementData.h - the ranks of a program's stages --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts a pipeline.program to the placement and the problem for which
// schedules are generated, timed and searched. Ranks are numbered by the
// stages' first devices, in the order of the stages; the other devices of
// replicas that take microbatches in turn come last.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_PLACEMENTDATA_H
#define STAGEWRIGHT_ANALYSIS_PLACEMENTDATA_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Planning/CreditMemory.h"

namespace stagewright::pipeline {

/// The device of every rank.
llvm::SmallVector<llvm::StringRef> devicesOfRanks(ProgramOp program);

/// By stage: its ranks in the order of its devices. Of replicas that share each
/// microbatch only the first device is a rank.
std::vector<std::vector<int64_t>> ranksOfStages(ProgramOp program);

/// By stage: the stage of a pipeline of gangs that it is a part of, if the
/// program states it.
GangStages gangStagesOf(ProgramOp program);

/// Whether some stage has replicas that take microbatches in turn, and stages
/// that share a rank have the same ranks in the same order. Replica i of n runs
/// the microbatches m with m mod n = i.
bool hasReplicas(ProgramOp program);

/// The placement of the stages; if stages have replicas, the placement of the
/// first replica of each. Stages on two devices each, in opposite directions,
/// are Placement::Twin. If no placement matches, the error is located at a
/// stage or at the program.
mlir::FailureOr<StagePlacement> placementOf(ProgramOp program);

/// The scheduling problem of `program` (Planning/Placed.h): seconds from the
/// nodes' costs, bytes from the values between them, links and memory from the
/// cluster. Fails with a located error if placementOf() does, if a node has no
/// cost, or if a device has too little memory for any schedule.
mlir::FailureOr<ScheduleProblem> scheduleProblemOf(ProgramOp program);

/// What credits are assigned from.
struct CreditCosts {
  StepTimes times;
  CreditMemory memory;
};

/// The costs of `program`, whose stages may be on any ranks, if these run the
/// actions of `schedule` as they become ready (Planning/CreditMemory.h).
/// `graph` is that of its stages; `ofShards`: its layers are shards. Fails with
/// a located error if a node has no cost, or if a device has too little memory
/// for what is needed without microbatches in flight.
mlir::FailureOr<CreditCosts> creditCostsOf(ProgramOp program,
                                           const Schedule &schedule,
                                           const StageGraph &graph,
                                           bool ofShards);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_PLACEMENTDATA_H
