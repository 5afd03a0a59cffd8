//===- ElementTrace.cpp - elements traced back to their values ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/ElementTrace.h"

namespace stagewright {

linalg::LinalgOp parallelOf(Value value) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op || isa<linalg::FillOp>(op) || op.getNumReductionLoops() != 0 ||
      !op.hasPureTensorSemantics())
    return {};
  unsigned result = cast<OpResult>(value).getResultNumber();
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  return map.isPermutation() ? op : linalg::LinalgOp();
}

} // namespace stagewright
