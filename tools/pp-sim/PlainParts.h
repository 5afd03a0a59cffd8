//===- PlainParts.h - sources of plain schedules ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_SIM_PLAINPARTS_H
#define STAGEWRIGHT_TOOLS_PP_SIM_PLAINPARTS_H

#include "PlainSchedule.h"

namespace stagewright {

/// The sources of makeSchedule(): a generator, a file, or the search.
Result<PlainSchedule> scheduleOfGenerator(const ScheduleFlags &flags);
Result<PlainSchedule> scheduleOfFile(const ScheduleFlags &flags);
Result<PlainSchedule> scheduleOfSearch(const ScheduleFlags &flags);

/// Reads into `problem` the numbers of ranks, chunks and microbatches of the
/// schedule to be made; `otherChunks` is the default number of chunks.
Status readShape(const ScheduleFlags &flags, int64_t otherChunks,
                 ScheduleProblem &problem);

/// An error if a flag of --schedule=auto is used with another schedule.
Status refuseSearchFlags(const ScheduleFlags &flags);

/// Sets the placement to that of --placement if it puts every stage on the rank
/// where the schedule has it; otherwise an error. With one chunk per rank
/// linear, loop and v are the same.
Status takePlacement(const ScheduleFlags &flags, bool hasPlacement,
                     ScheduleProblem &problem);

bool hasBackward(const Schedule &schedule);

/// Simulates the schedule of `plain` again and replaces its times, if --jitter
/// is given, or with --execution=ready, which also replaces its order by that
/// in which actions become ready. Otherwise does nothing.
Status execute(const ScheduleFlags &flags, PlainSchedule &plain);

/// Times the schedule of `plain`, computes its lower bounds and checks its
/// memory.
Status finish(PlainSchedule &plain);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_SIM_PLAINPARTS_H
