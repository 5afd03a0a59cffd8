//===- Triangle.h - contractions of which half is masked --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_CONTRACTIONS_TRIANGLE_H
#define STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_CONTRACTIONS_TRIANGLE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

namespace stagewright::bodies {

/// The triangle of `op` that BodyFindTriangles found, as `rank.contract` has
/// it. It is a hint: without it, all points are computed. It is ignored if one
/// of the two loops no longer has the extent that it had when the triangle was
/// found.
std::optional<std::array<int64_t, 2>> triangleOf(mlir::linalg::ContractOp op);

/// A box of points of an operation: a range of each of its loops.
struct LoopBox {
  llvm::SmallVector<int64_t> begins, extents;
};

/// Disjoint boxes that cover every needed point of `op`; their results do not
/// overlap. One box of all points if there is no triangle.
llvm::SmallVector<LoopBox> boxesOf(rank::ContractOp op);

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_CONTRACTIONS_TRIANGLE_H
