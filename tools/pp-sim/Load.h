//===- Load.h - simulates a plan in IR --------------------------*- C++ -*-===//
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

/// The options of a simulation.
struct SimulationOptions {
  std::string order; ///< Empty: the file's schedule, or else the fastest.
  std::optional<int64_t> microbatches;
  bool fullDuplex = false, noNic = false;
  LinkSharing sharing = LinkSharing::Turns;
  double collectiveSlowdown = 1;
  std::string profile; ///< File with measured times; empty: the plan's.
};

/// A plan, its pipeline, and the simulated step.
struct Simulation {
  Problem problem;
  Plan plan;
  PipelineModel model;
  /// The schedule of the file, for the requested number of microbatches.
  std::optional<Schedule> schedule;
  std::string order; ///< "schedule 1f1b" or "window order".
  PipelineTimeline timeline;
  /// By processor: the devices that it represents.
  std::vector<std::set<size_t>> devices;
  PipelineNames names;
  std::optional<ProfiledStep> measured; ///< From the profile.
};

/// Reads the program of `module`, and its schedule if there is one, and
/// simulates it. Errors are reported at their places in the file.
mlir::FailureOr<Simulation> simulateModule(mlir::ModuleOp module,
                                           const SimulationOptions &options);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_SIM_LOAD_H
