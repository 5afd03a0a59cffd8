//===- Passes.h - passes over the rank dialect ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constructors and registration of the passes in dialects/Rank/Passes.td, where
// each is described.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_RANK_TRANSFORMS_PASSES_H
#define STAGEWRIGHT_DIALECT_RANK_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

namespace stagewright::rank {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "stagewright/Dialect/Rank/Transforms/Passes.h.inc"

} // namespace stagewright::rank

#endif // STAGEWRIGHT_DIALECT_RANK_TRANSFORMS_PASSES_H
