//===- InferRoles.cpp - roles and positions of @step ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

using namespace mlir;

namespace stagewright::pipeline {
#define GEN_PASS_DEF_INFERROLES
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {
struct InferRolesPass : impl::InferRolesBase<InferRolesPass> {
  using InferRolesBase::InferRolesBase;

  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>("step");
    if (!step) {
      getOperation().emitError("no function @step");
      return signalPassFailure();
    }
  }
};
} // namespace
} // namespace stagewright::pipeline
