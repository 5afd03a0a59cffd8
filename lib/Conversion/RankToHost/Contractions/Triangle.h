//===- Triangle.h - contractions of which half is masked --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_CONTRACTIONS_TRIANGLE_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_CONTRACTIONS_TRIANGLE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace stagewright::host {

/// Attribute of a contraction: points at which the index of the first of two
/// loops is less than that of the second are not needed. It holds the loops and
/// their extents when it was set; it does not apply to a slice of these loops.
constexpr llvm::StringLiteral kTriangle = "host.triangle";

/// A box of points of an operation: a range of each of its loops.
struct LoopBox {
  llvm::SmallVector<int64_t> begins, extents;
};

/// Disjoint boxes that cover every needed point of `op`; their results do not
/// overlap. One box of all points if there is no triangle.
llvm::SmallVector<LoopBox> boxesOf(mlir::linalg::LinalgOp op);

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_CONTRACTIONS_TRIANGLE_H
