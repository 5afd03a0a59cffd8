//===- ScheduleData.h - schedules from files, and their times ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule beside a program: read from a file, its needs, what it takes.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_SCHEDULEDATA_H
#define STAGEWRIGHT_ANALYSIS_SCHEDULEDATA_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Planning/Placed.h"
#include "stagewright/Scheduling/LowerBounds.h"
#include "stagewright/Scheduling/Timing.h"

namespace stagewright::pipeline {

/// The orders of a schedule file of PyTorch, ranks in the order of their first
/// stages, as programs number them. Errors name the file.
mlir::FailureOr<Schedule> readScheduleFile(mlir::Location loc,
                                           llvm::StringRef path);

/// How the stages of a schedule lie.
mlir::FailureOr<StagePlacement> placementOf(mlir::Location loc,
                                            const Schedule &schedule);

/// Whether `schedule` runs the halves of backwards apart.
bool splitsBackward(const Schedule &schedule);

/// Makespan and span with their bounds, the placement that these hold for, and
/// the gaps; m*T, the work of the busiest rank. One line.
std::string describe(const ScheduleTiming &timing, const LowerBounds &bounds,
                     Placement placement);

/// describe() of `schedule` with the costs of `program`, transfers as delays;
/// empty where the graph has no costs or nothing fits in memory.
std::string describeTimes(ProgramOp program, const Schedule &schedule);

/// The part of the makespan in which each rank has nothing to do, by the same
/// costs; empty where describeTimes() is.
std::vector<double> idleShares(ProgramOp program, const Schedule &schedule);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_SCHEDULEDATA_H
