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

/// The pass that forms the graph of a module and, if `to` is a later form, cuts
/// it into a program. The schedule determines whether backwards are one body or
/// two halves; if the schedule is to be chosen too, both are planned and the
/// better plan is kept. So the passes to run are chosen at run time. If the
/// module has a graph or a program already, the pass starts from it. `device`:
/// null for the host.
std::unique_ptr<mlir::Pass>
createPlanStep(const CompileOptions &options, Level to,
               std::shared_ptr<const DeviceTarget> device);

/// Predicted seconds of a step of the plan of `module`; infinite if it has no
/// plan.
Seconds promisedTime(mlir::ModuleOp module);

/// The bound on the time of all plans that `module` states; infinite if it has
/// no plan.
Seconds promisedBound(mlir::ModuleOp module);
/// Sets the bound of promisedBound(), if `module` has a plan.
void setBound(mlir::ModuleOp module, Seconds bound);

/// Appends the passes that the target runs on bodies, up to their workspaces.
void buildBodies(mlir::OpPassManager &manager, const CompileOptions &options,
                 const DeviceTarget *device, bool ranks = true);

/// Appends the passes from a program to the arenas of its ranks.
void buildRanks(mlir::OpPassManager &manager, const CompileOptions &options,
                const DeviceTarget *device);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_PLANSTEP_H
