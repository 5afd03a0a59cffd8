//===- InitAllDialects.h - registers all dialects ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_INITALLDIALECTS_H
#define STAGEWRIGHT_INITALLDIALECTS_H

#include "mlir/IR/DialectRegistry.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

namespace stagewright {

/// Adds every dialect of Stagewright to `registry`.
inline void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<pipeline::PipelineDialect, rank::RankDialect>();
}

} // namespace stagewright

#endif // STAGEWRIGHT_INITALLDIALECTS_H
