//===- Profile.h - measured graphs as IR, plans as JSON ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The way of other planners' inputs into the IR and of plans out of it:
// `pp-translate --import-FORMAT` and `--export-plan`.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TARGET_PROFILE_H
#define STAGEWRIGHT_TARGET_PROFILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Planning/Plan.h"

namespace stagewright {

/// A module with `problem` as `pipeline.graph @step`: per layer a node of phase
/// F and one of phase B (I and W where the problem has both) without a body,
/// whose seconds are of the class "profiled"; values as tensors of bytes;
/// parameters and what else stays in memory as arguments, gradients as results.
/// problemOf() reads all of it back. Fails for values that no order of nodes
/// allows and for gradients without their parameter. O(layers + uses).
Result<mlir::OwningOpRef<mlir::ModuleOp>> writeGraph(mlir::MLIRContext &context,
                                                     const Problem &problem);

/// The stages of `program` on their devices, as evaluate() needs them; the
/// order that it was planned for.
Plan planOf(pipeline::ProgramOp program);

/// Registers the translations of pp-translate: one import per profile format,
/// `export-plan`, and `schedule-to-csv`.
void registerProfileTranslations();

} // namespace stagewright

#endif // STAGEWRIGHT_TARGET_PROFILE_H
