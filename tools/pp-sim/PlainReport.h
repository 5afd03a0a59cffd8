//===- PlainReport.h - a schedule for people and programs -------*- C++ -*-===//
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

/// Both metrics with m * T, lower bounds and gaps, and what each rank does.
std::string tableOf(const PlainSchedule &plain);

/// When every rank runs what, to scale.
std::string gridOf(const PlainSchedule &plain);

/// All of it as one JSON object, ended by a newline.
std::string jsonOf(const PlainSchedule &plain);

/// Names for pictures and traces.
PipelineNames namesOf(const PlainSchedule &plain);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_SIM_PLAINREPORT_H
