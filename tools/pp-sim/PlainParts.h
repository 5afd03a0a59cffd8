//===- PlainParts.h - where plain schedules come from -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_SIM_PLAINPARTS_H
#define STAGEWRIGHT_TOOLS_PP_SIM_PLAINPARTS_H

#include "PlainSchedule.h"

namespace stagewright {

/// The three sources of makeSchedule().
Result<PlainSchedule> scheduleOfGenerator(const ScheduleFlags &flags);
Result<PlainSchedule> scheduleOfFile(const ScheduleFlags &flags);
Result<PlainSchedule> scheduleOfSearch(const ScheduleFlags &flags);

/// Ranks, chunks and microbatches of a schedule that is to be made.
Status readShape(const ScheduleFlags &flags, int64_t otherChunks,
                 ScheduleProblem &problem);

/// An error for a flag of the search beside a given order.
Status refuseSearchFlags(const ScheduleFlags &flags);

/// Takes the name that --placement gives where the schedule has its stages; an
/// error where they lie otherwise. With one chunk per rank linear, loop and v
/// are the same.
Status takePlacement(const ScheduleFlags &flags, bool hasPlacement,
                     ScheduleProblem &problem);

bool hasBackward(const Schedule &schedule);

/// Times and bounds the schedule that `plain` has, and holds it against the
/// memory.
Status finish(PlainSchedule &plain);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_SIM_PLAINPARTS_H
