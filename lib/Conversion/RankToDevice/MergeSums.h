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
/// loops, in the place of the later one, `b`. Its results are those of `a`,
/// then those of `b`, and replace all uses of these.
mlir::linalg::GenericOp mergeGenerics(mlir::linalg::GenericOp a,
                                      mlir::linalg::GenericOp b);

/// Merges sums over rows in `singles` that have the same loops and share an
/// operand, if neither depends on the other, and updates the list. Afterwards
/// operations of the block may be before what they read.
void mergeSums(llvm::SetVector<mlir::Operation *> &singles);

/// Adds a sum over the rows of `group` to `members`, the operations of `group`
/// that become one kernel. Candidates are the sums whose elementwise operands
/// the members read or make. They are merged (mergeSums), and the first that
/// can be in one kernel with the members (RowTeams.h) is added.
void addRowSums(const bodies::RowGroup &group,
                llvm::SmallVector<mlir::Operation *> &members);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_MERGESUMS_H
