//===- Profile.h - measured graphs as IR, plans as JSON ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads other planners' inputs into the IR and writes plans and schedules from
// it: `pp-translate --import-FORMAT`, `--export-plan`, `--schedule-to-csv`.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TARGET_PROFILE_H
#define STAGEWRIGHT_TARGET_PROFILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Planning/Plan.h"

namespace stagewright {

/// A module with `problem` as `pipeline.graph @step`: for each layer a node of
/// phase F and, unless the problem is forward-only, one of phase B (I and W if
/// it has both), without bodies, whose seconds are for the cluster's device
/// classes or, without a cluster, for "profiled". Values are tensors of bytes;
/// parameters and other resident memory are arguments, gradients are results.
/// problemOf() reads all of it back. Fails if a value goes to a node that runs
/// before its producer, and for gradients without a parameter. O(layers +
/// uses).
Result<mlir::OwningOpRef<mlir::ModuleOp>> writeGraph(mlir::MLIRContext &context,
                                                     const Problem &problem);

/// Registers the translations of pp-translate: one import per profile format,
/// `export-plan`, and `schedule-to-csv`.
void registerProfileTranslations();

} // namespace stagewright

#endif // STAGEWRIGHT_TARGET_PROFILE_H
