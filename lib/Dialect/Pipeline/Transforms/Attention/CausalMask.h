//===- CausalMask.h - whether a mask is causal ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_CAUSALMASK_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_CAUSALMASK_H

#include "ElementFormulas.h"

namespace stagewright::pipeline {

/// Proves that `condition`, a value in the body of `op` or a tensor if `op` is
/// null, is true exactly where the index of dimension `key` is at most that of
/// dimension `query`: then returns true. Returns false if it is true exactly
/// where that does not hold; none for other conditions. `dims`: for every loop
/// of `op`, or axis of the tensor, its dimension of the scores, negative if it
/// has none.
std::optional<bool> matchCausal(mlir::linalg::LinalgOp op,
                                mlir::Value condition, llvm::ArrayRef<int> dims,
                                int query, int key);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_CAUSALMASK_H
