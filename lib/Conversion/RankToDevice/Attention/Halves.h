//===- Halves.h - attention gradients as two operations ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of queries is a sum over keys; those of keys and values are sums
// over queries. In two kernels, each sum is computed by one thread. Both
// kernels read delta, a sum for every query.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_HALVES_H
#define STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_HALVES_H

#include "stagewright/Dialect/Pipeline/IR/Attention.h"

namespace stagewright::device {

struct Halves {
  llvm::SmallVector<mlir::Operation *> sums; ///< compute delta
  mlir::Operation *queries, *keys;
};

/// Writes the operations that replace `whole`, on tensors or on buffers.
Halves writeHalves(mlir::OpBuilder &builder,
                   pipeline::AttentionGradientOp whole);

} // namespace stagewright::device

#endif // STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_HALVES_H
