//===- WriteProgram.h - writes a plan as a program --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_WRITEPROGRAM_H
#define STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_WRITEPROGRAM_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Planning/Plan.h"
#include "llvm/ADT/StringSet.h"

namespace stagewright::pipeline {

/// Writes `plan` at the end of `module`: stages, boundaries, the expected time
/// under `schedule`, and the lower bounds of the plan and of its family.
ProgramOp writeProgram(mlir::ModuleOp module, GraphOp graph, ClusterOp cluster,
                       const Problem &problem, const Plan &plan,
                       llvm::StringRef schedule);

/// Writes a boundary for each value of `graph` that other stages use.
void writeBoundaries(mlir::OpBuilder &builder, GraphOp graph,
                     llvm::ArrayRef<int64_t> stageOfLayer);

/// Erases the functions of `module` in `names` that no node calls any more.
void eraseUncalled(mlir::ModuleOp module, const llvm::StringSet<> &names);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_WRITEPROGRAM_H
