//===- Scalars.h - numbers in the memory of a device ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where an operation reads or writes may depend on numbers that the step
// computes, such as the start of a slice. The host cannot read them, so the
// kernels that need them do. These functions prepare the bodies of nodes for
// outlining, and clean up after it.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_SCALARS_H
#define STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_SCALARS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"
#include "mlir/Support/LLVM.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

namespace stagewright::device {

/// Whether the place of `view` in its buffer is known only at run time.
bool movesAtRunTime(mlir::Value view);

/// Turns copies whose place is known only at run time, and stores of single
/// numbers, into loop nests, so that a kernel does them.
void makeLoops(mlir::Block &body);

/// Writes a fill, if `op` overwrites, and a `linalg.generic` that do what `op`
/// does, for a kernel.
void writeProduct(mlir::OpBuilder &builder, rank::ContractOp op);

/// Turns a copy, the store of a number, or a product into loop nests.
void makeLoop(mlir::Operation *op);

/// Kernels read such numbers when they run. So if one is overwritten after it
/// is read in `body`, it is copied, and the copy is read.
void keepScalars(mlir::Block &body);

/// Removes numbers that only kernels needed, which now read them. Reports an
/// error if others need one, such as the call of a library.
mlir::LogicalResult removeScalars(mlir::Block &body);

} // namespace stagewright::device

#endif // STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_SCALARS_H
