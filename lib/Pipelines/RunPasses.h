//===- RunPasses.h - runs passes on a copy of a module ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass may try a transformation on a copy of its module before it decides.
// The pipeline that the user sees, prints and times does not include the trial.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_RUNPASSES_H
#define STAGEWRIGHT_LIB_PIPELINES_RUNPASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace stagewright {

/// A limit on memory with which every plan fits.
inline constexpr const char *kUnlimitedMemory = "4194304GiB";

/// Runs the passes that `build` appends on `trial`, a copy of a module. It is
/// verified once, at the end, not after every pass, because a search runs many
/// trials.
mlir::LogicalResult
runAside(mlir::ModuleOp trial,
         llvm::function_ref<void(mlir::OpPassManager &)> build);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_RUNPASSES_H
