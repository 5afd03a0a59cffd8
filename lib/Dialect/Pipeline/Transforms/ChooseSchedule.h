//===- ChooseSchedule.h - where a program's orders come from ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: a generator, a search, or a file. All errors are
// located.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_CHOOSESCHEDULE_H
#define STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_CHOOSESCHEDULE_H

#include "stagewright/Analysis/PlacementData.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Scheduling/AutoSchedule.h"

namespace stagewright::pipeline {

/// The orders of `generator` for `program`; `group` as in ScheduleShape. Those
/// of replicas in turn are made for every pipeline that runs beside others.
mlir::FailureOr<Schedule>
generateFor(ProgramOp program, const Generator &generator, int64_t group);

/// The best orders that a search finds for `program`. A remark says what they
/// take, the bounds, and where they come from.
mlir::FailureOr<Schedule> searchFor(ProgramOp program,
                                    AutoScheduleOptions options);

/// `schedule`, whose stages must lie as those of `program` and which must have
/// as many microbatches, dealt out to replicas that take them in turn.
mlir::FailureOr<Schedule> takeGiven(ProgramOp program,
                                    const Schedule &schedule);

/// Backwards are in one only where `schedule` runs them so.
mlir::LogicalResult checkHalves(ProgramOp program, const Schedule &schedule);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_CHOOSESCHEDULE_H
