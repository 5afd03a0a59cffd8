//===- MergeSums.h - sums over the same rows in one operation ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients of a norm's scale and shift are sums over the same rows, partly
// of the same values: one operation, in one kernel, reads these once. If
// another kernel reads the rows anyway, such as that of the gradient of the
// norm's input, the sums become part of it.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_MERGESUMS_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_MERGESUMS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "stagewright/Conversion/BodiesToKernels/RowGroups.h"
#include "llvm/ADT/SetVector.h"

namespace stagewright::device {

/// Whether `op` depends on `maker`, directly or through others.
bool needs(mlir::Operation *op, mlir::Operation *maker);

/// Creates one operation for two that do not need each other and have the same
/// loops, in the place of the later one, `b`. It has the results of `a`, then
/// those of `b`, whose uses it replaces.
mlir::linalg::GenericOp mergeGenerics(mlir::linalg::GenericOp a,
                                      mlir::linalg::GenericOp b);

/// Merges sums in `singles` that have the same loops and share an operand, if
/// neither depends on the other, and updates the list. Operations of the block
/// may then be before what they read.
void mergeSums(llvm::SetVector<mlir::Operation *> &singles);

/// Adds to `members`, operations of `group` that become one kernel, the merged
/// sums over all its rows whose elementwise operands the members read or make,
/// if a kernel can have both (RowTeams.h).
void addRowSums(const bodies::RowGroup &group,
                llvm::SmallVector<mlir::Operation *> &members);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_MERGESUMS_H
