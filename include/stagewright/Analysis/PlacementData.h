//===- PlacementData.h - where a program's stages lie -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From pipeline.program to what schedules are made, timed and searched for.
// Rank r is the r-th device in the order of the stages' first devices.
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

/// Whether stages have replicas: several devices that only stages on the same
/// devices, in the same order, lie on. Replica i of r runs the microbatches m
/// with m mod r = i.
bool hasReplicas(ProgramOp program);

/// How the stages lie, of replicas the first; twins, which lie as none of the
/// others do, have a placement of their own. Stages that lie as no placement
/// says are errors at a stage.
mlir::FailureOr<StagePlacement> placementOf(ProgramOp program);

/// What a schedule of `program` has to cope with (Planning/Placed.h): seconds
/// from the nodes' costs, bytes from the values between them, links and memory
/// from the cluster. Fails with a located error where placementOf() does, where
/// a node has no cost, and where a device is too small for any schedule.
mlir::FailureOr<ScheduleProblem> scheduleProblemOf(ProgramOp program);

/// Bytes that each rank of `program` holds with `schedule`; the same failures.
mlir::FailureOr<std::vector<Bytes>> memoryOfRanks(ProgramOp program,
                                                  const Schedule &schedule);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_PLACEMENTDATA_H
