//===- Passes.h - from a scheduled program to rank programs -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constructor and registration of the pass in
// dialects/Conversion/PipelineToRankPasses.td, where it is described.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_PIPELINETORANK_PASSES_H
#define STAGEWRIGHT_CONVERSION_PIPELINETORANK_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

namespace stagewright {

#define GEN_PASS_DECL_LOWERPIPELINETORANK
#define GEN_PASS_REGISTRATION
#include "stagewright/Conversion/PipelineToRank/Passes.h.inc"

} // namespace stagewright

#endif // STAGEWRIGHT_CONVERSION_PIPELINETORANK_PASSES_H
