//===- Hints.h - how parameters are split -----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A user says it by name: `GLOB=DIM`, `GLOB=DIM:CHUNKS` where the dimension
// holds several arrays side by side, `GLOB=whole`, or `GLOB=auto` for what is
// fastest (Choose.h); the first hint that fits a name counts. Of a parameter
// that no hint names, `pipeline.split_dim` says it, which importers read from
// the model's own file. All others are whole; where nobody says anything, all
// are auto.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_HINTS_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_HINTS_H

#include "Layout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace stagewright::pipeline {

/// What is known of the arguments of a step.
struct HintedLayouts {
  llvm::SmallVector<Layout> layouts; ///< By argument; of open ones, whole.
  llvm::SmallVector<unsigned> open;  ///< Parameters that are auto, ascending.
};

/// The layouts of the arguments of `step` over `ways` shards, whole but for
/// parameters that `hints`, with commas between, or attributes split. Fails,
/// with an error, on what is no hint, on one that names no parameter, and on a
/// part that a shard cannot have.
mlir::FailureOr<HintedLayouts> readLayouts(mlir::func::FuncOp step,
                                           mlir::StringRef hints, int64_t ways);

/// Hints that say what `layouts` do, with one for parameters whose names differ
/// in numbers only, where they are split alike.
std::string writeHints(mlir::func::FuncOp step, llvm::ArrayRef<Layout> layouts);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_HINTS_H
