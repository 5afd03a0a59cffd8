//===- RunPasses.h - passes on a module on the side -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass may try on a copy of its module what it then does or does not do. Such
// a trial is no part of the pipeline that the user sees, prints and times.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_RUNPASSES_H
#define STAGEWRIGHT_LIB_PIPELINES_RUNPASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace stagewright {

/// Runs on `trial`, a copy, what `build` appends.
mlir::LogicalResult
runAside(mlir::ModuleOp trial,
         llvm::function_ref<void(mlir::OpPassManager &)> build);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_RUNPASSES_H
