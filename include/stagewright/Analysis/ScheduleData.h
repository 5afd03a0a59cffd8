//===- ScheduleData.h - schedules from files, and their times ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules of a program: reading them from files, their placement, times and
// bounds.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_SCHEDULEDATA_H
#define STAGEWRIGHT_ANALYSIS_SCHEDULEDATA_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Planning/Placed.h"
#include "stagewright/Scheduling/LowerBounds.h"
#include "stagewright/Scheduling/Timing.h"

namespace stagewright::pipeline {

/// Reads a PyTorch schedule file. Ranks are numbered in the order of their
/// first stages, as in programs. Errors name the file.
mlir::FailureOr<Schedule> readScheduleFile(mlir::Location loc,
                                           llvm::StringRef path);

/// The placement of a schedule's stages on ranks.
mlir::FailureOr<StagePlacement> placementOf(mlir::Location loc,
                                            const Schedule &schedule);

/// Whether `schedule` runs I and W of backwards apart.
bool splitsBackward(const Schedule &schedule);

/// One line of text: makespan and span, their bounds, the placement for which
/// these hold, the gaps, and the work of the busiest rank (m*T).
std::string describe(const Timeline &timing, const LowerBounds &bounds,
                     Placement placement);

/// describe() for `schedule`, or for the first of its parallel pipelines, with
/// the costs of `program`; a transfer only delays its receiver. Empty if costs
/// are unknown, nothing fits in memory, or the schedule cannot be timed.
std::string describeTimes(ProgramOp program, const Schedule &schedule);

/// The fraction of the makespan in which each rank is idle, with the costs of
/// `program`; empty if costs are unknown or the schedule cannot be timed.
std::vector<double> idleShares(ProgramOp program, const Schedule &schedule);

/// The times that determine during how many steps an average over replicas is
/// in progress.
struct AveragingTimes {
  Seconds allReduce; ///< Of a stage's parameters; max over the stages.
  Seconds step;      ///< A step without any sum over replicas.
};

/// Predicts these times for `program` in the orders of `schedule`. Fails with
/// an error if costs are unknown.
mlir::FailureOr<AveragingTimes> averagingTimes(ProgramOp program,
                                               const Schedule &schedule);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_SCHEDULEDATA_H
