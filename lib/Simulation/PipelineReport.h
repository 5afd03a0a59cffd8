//===- PipelineReport.h - the timeline of a recorded run --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_PIPELINEREPORT_H
#define STAGEWRIGHT_SIMULATION_PIPELINEREPORT_H

#include "PipelineEngine.h"

namespace stagewright {

/// The timeline of a run of `model` that `engine` has recorded; `split` is the
/// argument of that run.
PipelineTimeline reportOf(const PipelineModel &model,
                          const PipelineEngine &engine,
                          const SplitBackwards *split, Ticks makespan);

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_PIPELINEREPORT_H
