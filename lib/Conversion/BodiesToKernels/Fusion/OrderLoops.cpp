//===- OrderLoops.cpp - cheapest dimension innermost ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"

namespace stagewright::bodies {
#define GEN_PASS_DEF_BODYORDERLOOPS
#include "stagewright/Conversion/BodiesToKernels/Passes.h.inc"

namespace {

/// Cost of one step along `dim` in an operand, in elements moved: a strided
/// access moves a cache line for each element. A strided store costs more,
/// because it cannot use a gather.
int64_t accessCost(AffineMap map, unsigned dim, bool store) {
  if (!map.isFunctionOfDim(dim))
    return 0;
  bool contiguous = map.getResult(map.getNumResults() - 1) ==
                    getAffineDimExpr(dim, map.getContext());
  for (AffineExpr result : map.getResults().drop_back())
    contiguous &= !result.isFunctionOfDim(dim);
  return contiguous ? 1 : store ? 20 : 16;
}

struct BodyOrderLoopsPass : impl::BodyOrderLoopsBase<BodyOrderLoopsPass> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> generics;
    getOperation()->walk([&](linalg::GenericOp op) { generics.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (linalg::GenericOp op : generics) {
      unsigned innermost = chooseInnermost(op);
      unsigned loops = op.getNumLoops();
      if (loops < 2 || innermost == loops - 1)
        continue;
      SmallVector<unsigned> order;
      for (unsigned dim = 0; dim < loops; ++dim)
        if (dim != innermost)
          order.push_back(dim);
      order.push_back(innermost);
      rewriter.setInsertionPoint(op);
      (void)linalg::interchangeGenericOp(rewriter, op, order);
    }
  }

  static unsigned chooseInnermost(linalg::GenericOp op) {
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    unsigned best = 0;
    std::optional<int64_t> bestCost;
    for (unsigned dim = op.getNumLoops(); dim-- > 0;) {
      if (ranges[dim] == 1)
        continue;
      int64_t cost = 0;
      for (OpOperand &operand : op->getOpOperands())
        cost += accessCost(op.getMatchingIndexingMap(&operand), dim,
                           op.isDpsInit(&operand));
      if (!bestCost || cost < *bestCost) {
        best = dim;
        bestCost = cost;
      }
    }
    return bestCost ? best : op.getNumLoops() - 1;
  }
};

} // namespace
} // namespace stagewright::bodies
