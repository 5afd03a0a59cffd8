//===- Halves.h - gradients of attention in two halves ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients of queries are sums over keys, those of keys over queries: as two
// kernels each sum is made by one thread. Both read a sum for every query.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_HALVES_H
#define STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_HALVES_H

#include "stagewright/Dialect/Pipeline/IR/Attention.h"

namespace stagewright::device {

struct Halves {
  llvm::SmallVector<mlir::Operation *> sums; ///< zeros, and what adds to them
  mlir::Operation *queries, *keys;
};

/// Writes them beside `whole`, which is on tensors or on buffers.
Halves writeHalves(mlir::OpBuilder &builder,
                   pipeline::AttentionGradientOp whole);

} // namespace stagewright::device

#endif // STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_HALVES_H
