//===- MergeSums.h - sums over the same rows, made together -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients of a norm's scale and shift are sums over the same rows of what
// is partly the same: as one operation they read it once, in one kernel. Where
// a kernel reads those rows anyway, as that of the gradient of what the norm
// was taken of, they go with it.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_MERGESUMS_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_MERGESUMS_H

#include "../RankToHost/Rows/GroupRows.h"
#include "llvm/ADT/SetVector.h"

namespace stagewright::device {

/// Makes one operation of sums among `singles` that walk the same rows and
/// share an operand, where none needs another; keeps the list up to date. The
/// operations of the block may then stand before what they read.
void mergeSums(llvm::SetVector<mlir::Operation *> &singles);

/// Adds to `members`, operations of `group` that become one kernel, the sums
/// over all its rows, as one operation, that need no more of a row than these
/// read or make of it anyway, if a kernel can have both (RowTeams.h).
void addRowSums(const host::RowGroup &group,
                llvm::SmallVector<mlir::Operation *> &members);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_MERGESUMS_H
