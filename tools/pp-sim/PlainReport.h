//===- PlainReport.h - tables and JSON of a schedule ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_SIM_PLAINREPORT_H
#define STAGEWRIGHT_TOOLS_PP_SIM_PLAINREPORT_H

#include "PlainSchedule.h"
#include "stagewright/Simulation/DrawSvg.h"

namespace stagewright {

/// Makespan and span with m * T, lower bounds and gaps, and the load of each
/// rank.
std::string tableOf(const PlainSchedule &plain);

/// The actions of every rank, drawn to scale.
std::string gridOf(const PlainSchedule &plain);

/// Makespan and span with m * T, lower bounds and gaps, and the peak memory of
/// each rank, as one JSON object followed by a newline.
std::string jsonOf(const PlainSchedule &plain);

/// Names for drawings and traces.
PipelineNames namesOf(const PlainSchedule &plain);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_SIM_PLAINREPORT_H
