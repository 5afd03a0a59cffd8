//===- ChooseSchedule.h - the schedule of a program -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gets the orders of a program from a generator, a search or a file. All errors
// have locations. Private to lib/Dialect/Pipeline/Transforms.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_CHOOSESCHEDULE_H
#define STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_CHOOSESCHEDULE_H

#include "stagewright/Analysis/PlacementData.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Scheduling/AutoSchedule.h"

namespace stagewright::pipeline {

/// The orders of `generator` for `program`; `group` as in ScheduleShape. If
/// there are parallel pipelines of replicas, each gets orders of its own.
mlir::FailureOr<Schedule>
generateFor(ProgramOp program, const Generator &generator, int64_t group);

/// The best orders that a search finds for `program`. A remark reports their
/// time, its bounds and their origin.
mlir::FailureOr<Schedule> searchFor(ProgramOp program,
                                    AutoScheduleOptions options);

/// `schedule`, dealt out to replicas that take microbatches in turn. Fails
/// unless it has the placement of stages and the number of microbatches of
/// `program`.
mlir::FailureOr<Schedule> takeGiven(ProgramOp program,
                                    const Schedule &schedule);

/// Fails if `schedule` splits backwards that the graph of `program` has merged.
mlir::LogicalResult checkHalves(ProgramOp program, const Schedule &schedule);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_CHOOSESCHEDULE_H
