//===- PlanStep.h - from an imported step to a program ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_PLANSTEP_H
#define STAGEWRIGHT_LIB_PIPELINES_PLANSTEP_H

#include "mlir/Pass/Pass.h"
#include "stagewright/Pipelines/Compile.h"
#include "stagewright/Support/Units.h"

namespace stagewright {

class DeviceTarget;

template <typename Op> bool has(mlir::ModuleOp module) {
  return !module.getOps<Op>().empty();
}

/// The pass that forms the graph of a module and, if `to` is behind that, cuts
/// it into a program. Whether backwards are one body or two halves decides the
/// schedule, or, where that is to be chosen as well, the better of both plans:
/// so these passes are chosen while they run. A module that has a graph or a
/// program goes on from there. `device` may be null: the host.
std::unique_ptr<mlir::Pass>
createPlanStep(const CompileOptions &options, Level to,
               std::shared_ptr<const DeviceTarget> device);

/// Seconds of a step that the plan of `module` promises; infinite where it has
/// none.
Seconds promisedTime(mlir::ModuleOp module);

/// Appends what the target runs on bodies, up to their workspaces.
void buildBodies(mlir::OpPassManager &manager, const DeviceTarget *device,
                 bool ranks = true);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_PLANSTEP_H
