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

/// The order of `generator` for `program`; `group` as in ScheduleShape.
mlir::FailureOr<Schedule>
generateFor(ProgramOp program, const Generator &generator, int64_t group);

/// The best order that a search finds for `program`. A remark says what it
/// takes, the bounds, and where the order comes from.
mlir::FailureOr<Schedule> searchFor(ProgramOp program,
                                    AutoScheduleOptions options);

/// The stages of `program` lie as those of `schedule`, it has as many
/// microbatches, and backwards in one only where the schedule runs them so.
mlir::LogicalResult checkFits(ProgramOp program, const Schedule &schedule);

/// Deals the orders of stages out to their replicas, which take microbatches in
/// turn. Each keeps its share of the order, so that what finished still does.
Schedule dealInTurn(ProgramOp program, const Schedule &schedule);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_CHOOSESCHEDULE_H
