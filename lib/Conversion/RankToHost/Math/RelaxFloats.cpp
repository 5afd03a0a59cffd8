//===- RelaxFloats.cpp - fast-math flags on floating-point operations -===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Analysis/SliceAnalysis.h"
#include "stagewright/Conversion/RankToHost/Passes.h"

using namespace mlir;

namespace stagewright::host {
#define GEN_PASS_DEF_HOSTRELAXFLOATS
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {
/// Sets `flags` beside those that are there.
void allow(Operation *op, arith::FastMathFlags flags) {
  auto math = dyn_cast<arith::ArithFastMathInterface>(op);
  // Comparisons have no rounding to relax.
  if (!math || isa<arith::CmpFOp>(op))
    return;
  if (arith::FastMathFlagsAttr given = math.getFastMathFlagsAttr())
    flags = flags | given.getValue();
  op->setAttr(math.getFastMathAttrName(),
              arith::FastMathFlagsAttr::get(op->getContext(), flags));
}

struct HostRelaxFloatsPass : impl::HostRelaxFloatsBase<HostRelaxFloatsPass> {
  void runOnOperation() override {
    using Flags = arith::FastMathFlags;
    getOperation()->walk([](Operation *op) {
      allow(op, isa<arith::MaximumFOp, arith::MinimumFOp>(op)
                    ? Flags::contract | Flags::nsz
                    : Flags::contract);
    });
    getOperation()->walk([](linalg::LinalgOp op) {
      if (op.getNumReductionLoops() == 0)
        return;
      for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
        SmallVector<Operation *> combiners;
        if (matchReduction(op.getRegionOutputArgs(), i, combiners))
          for (Operation *combiner : combiners)
            allow(combiner, Flags::reassoc);
      }
    });
  }
};
} // namespace
} // namespace stagewright::host
