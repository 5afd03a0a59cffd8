//===- UnrollLoops.h - iterations as kernels of their own -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel can run a loop in parallel only over columns, and only if each
// iteration computes rows element by element. A loop with products or sums,
// such as the scan of a recurrent network, is unrolled instead, so that the
// operations of an iteration are kernels and library calls of their own. Such
// loops are marked first, on tensors: passes treat the operations in them like
// those of the body. They are unrolled on buffers, because bufferization of
// thousands of operations takes minutes.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_UNROLLLOOPS_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_UNROLLLOOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace stagewright::device {

/// The blocks of a body whose operations become kernels and calls: its own, and
/// those of marked loops, outer ones first.
llvm::SmallVector<mlir::Block *> launchBlocks(mlir::func::FuncOp body);

/// The products in these blocks.
llvm::SmallVector<mlir::linalg::ContractOp>
launchedProducts(mlir::func::FuncOp body);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_UNROLLLOOPS_H
