//===- SimulationReport.h - tables and JSON of a simulation -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_SIM_SIMULATIONREPORT_H
#define STAGEWRIGHT_TOOLS_PP_SIM_SIMULATIONREPORT_H

#include "Load.h"

namespace stagewright {

/// The step, its devices, its channels, and the makespans of other orders.
std::string tableOf(const Simulation &simulation);

/// The critical path, a line for each block.
std::string criticalPathOf(const PipelineModel &model,
                           const PipelineTimeline &timeline,
                           const PipelineNames &names);

/// The actions of every rank in order, drawn as text: a forward has width 1, a
/// backward 2, transfers 0.
std::string gridOf(const Simulation &simulation);

/// All figures as one JSON object, followed by a newline.
std::string jsonOf(const Simulation &simulation);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_SIM_SIMULATIONREPORT_H
