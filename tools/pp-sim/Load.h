//===- Load.h - a plan in IR as a pipeline to simulate ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_SIM_LOAD_H
#define STAGEWRIGHT_TOOLS_PP_SIM_LOAD_H

#include "mlir/IR/BuiltinOps.h"
#include "stagewright/Cost/Profile.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Simulation/DrawSvg.h"
#include <set>

namespace stagewright {

/// What is asked beside the file.
struct SimulationOptions {
  std::string order; ///< Empty: the file's schedule, or else the fastest.
  std::optional<int64_t> microbatches;
  bool fullDuplex = false, noNic = false;
  double collectiveSlowdown = 1;
  std::string profile; ///< Times of a run, a file; empty: those of the plan.
};

/// A plan, the pipeline that it makes and the step in the order asked for.
struct Simulation {
  Problem problem;
  Plan plan;
  PipelineModel model;
  /// Of the file, for the number of microbatches asked for.
  std::optional<Schedule> schedule;
  std::string order; ///< "schedule 1f1b" or "window order".
  PipelineTimeline timeline;
  /// By processor: the devices that it stands for.
  std::vector<std::set<size_t>> devices;
  PipelineNames names;
  std::optional<ProfiledStep> measured; ///< Of the profile.
};

/// Reads the program of `module`, and its schedule if it has one, and simulates
/// it. Errors are reported where they are in the file.
mlir::FailureOr<Simulation> simulateModule(mlir::ModuleOp module,
                                           const SimulationOptions &options);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_SIM_LOAD_H
