//===- RunPasses.cpp - runs passes on a copy of a module ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunPasses.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

LogicalResult
stagewright::runAside(ModuleOp trial,
                      llvm::function_ref<void(OpPassManager &)> build) {
  PassManager manager(trial.getContext());
  manager.enableVerifier(false);
  build(manager);
  return success(succeeded(manager.run(trial)) && succeeded(verify(trial)));
}
