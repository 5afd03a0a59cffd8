//===- Report.h - what was decided, for people ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_REPORT_H
#define STAGEWRIGHT_LIB_PIPELINES_REPORT_H

#include "stagewright/Pipelines/Compile.h"

namespace stagewright {

/// Describes the plan and the schedule in `report`, and for the manifest in the
/// module attributes `rank.plan` and `rank.grid`. Does nothing where there are
/// none yet.
void describePlan(mlir::ModuleOp module, CompileReport *report);

/// What forwards keep and backwards repeat, from the graph; equal layers that
/// follow each other once.
void describeStash(mlir::ModuleOp module, CompileReport *report);

/// The table of bytes that the verification of the rank programs left.
void describeMemory(mlir::ModuleOp module, CompileReport *report);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_REPORT_H
