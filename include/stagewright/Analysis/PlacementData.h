//===- PlacementData.h - the ranks of a program's stages --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts a pipeline.program to the placement and the problem for which
// schedules are generated, timed and searched. Rank r is the r-th device in the
// order of the stages' first devices.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_PLACEMENTDATA_H
#define STAGEWRIGHT_ANALYSIS_PLACEMENTDATA_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Planning/Placed.h"

namespace stagewright::pipeline {

/// The device of every rank.
llvm::SmallVector<llvm::StringRef> devicesOfRanks(ProgramOp program);

/// The ranks of every stage, the first one first.
std::vector<std::vector<int64_t>> ranksOfStages(ProgramOp program);

/// Whether a stage has replicas, that is several ranks, and stages that share a
/// rank have the same ranks in the same order. Replica i of r runs the
/// microbatches m with m mod r = i.
bool hasReplicas(ProgramOp program);

/// The placement of the stages; of replicas, that of the first. Two copies of
/// a stage in opposite directions are Placement::Twin. If no placement matches,
/// the error is located at a stage or at the program.
mlir::FailureOr<StagePlacement> placementOf(ProgramOp program);

/// The scheduling problem of `program` (Planning/Placed.h): seconds from the
/// nodes' costs, bytes from the values between them, links and memory from the
/// cluster. Fails with a located error if placementOf() does, if a node has no
/// cost, or if a device has too little memory for any schedule.
mlir::FailureOr<ScheduleProblem> scheduleProblemOf(ProgramOp program);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_PLACEMENTDATA_H
