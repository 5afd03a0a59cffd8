//===- WriteTrace.h - a simulated step for trace viewers --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The trace event format that Perfetto and chrome://tracing open: one process
// each for devices, channels (and copies to and from hosts) and collectives, a
// thread for each device, lane and collective, complete events in microseconds,
// and arrows from the block that makes a value, through its transfer, to the
// block that waits for it.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_WRITETRACE_H
#define STAGEWRIGHT_SIMULATION_WRITETRACE_H

#include "stagewright/Simulation/DrawSvg.h"

namespace stagewright {

/// The trace as JSON, ended by a newline.
std::string writeTrace(const PipelineModel &model,
                       const PipelineTimeline &timeline,
                       const PipelineNames &names);

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_WRITETRACE_H
