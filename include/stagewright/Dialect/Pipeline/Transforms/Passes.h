//===- Passes.h - passes over the pipeline dialect --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constructors and registration of the passes in dialects/Pipeline/Passes.td,
// which describes each.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_PASSES_H
#define STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"

namespace stagewright::pipeline {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_PASSES_H
