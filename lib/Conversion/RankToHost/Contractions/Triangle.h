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

/// Attribute of a contraction: its points at which the first of two loops is
/// less than the second do not matter. The loops and their extents when that
/// was found; of a slice of these loops it says nothing.
constexpr llvm::StringLiteral kTriangle = "host.triangle";

/// A part of the points of an operation, for each of its loops.
struct LoopBox {
  llvm::SmallVector<int64_t> begins, extents;
};

/// Boxes that hold every point of `op` that matters, together once; their
/// results do not overlap. One box of all points where there is no triangle.
llvm::SmallVector<LoopBox> boxesOf(mlir::linalg::LinalgOp op);

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_CONTRACTIONS_TRIANGLE_H
