//===- Report.h - a simulated step for people and programs ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_SIM_REPORT_H
#define STAGEWRIGHT_TOOLS_PP_SIM_REPORT_H

#include "Load.h"

namespace stagewright {

/// The step, its devices, its channels, and what other orders take.
std::string tableOf(const Simulation &simulation);

/// What the end of the step waited for, a line for each block.
std::string criticalPathOf(const PipelineModel &model,
                           const PipelineTimeline &timeline,
                           const PipelineNames &names);

/// What every rank runs in which order, as a picture in text: a forward is one
/// wide, a backward two, transfers none.
std::string gridOf(const Simulation &simulation);

/// All of it as one JSON object, ended by a newline.
std::string jsonOf(const Simulation &simulation);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_SIM_REPORT_H
