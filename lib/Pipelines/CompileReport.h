//===- CompileReport.h - readable reports of a compilation ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_COMPILEREPORT_H
#define STAGEWRIGHT_LIB_PIPELINES_COMPILEREPORT_H

#include "stagewright/Pipelines/Compile.h"

namespace stagewright {

/// Describes the plan and the schedule in `report` and, for the artifact, in
/// the module attribute `rank.plan`. Does nothing if the module has none yet.
void describePlan(mlir::ModuleOp module, CompileReport *report);

/// Describes what forwards keep and backwards recompute, from the graph.
/// Consecutive equal layers are listed once.
void describeStash(mlir::ModuleOp module, CompileReport *report);

/// Describes the memory of every rank, from the attributes that the
/// verification of the rank programs attached.
void describeMemory(mlir::ModuleOp module, CompileReport *report);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_COMPILEREPORT_H
