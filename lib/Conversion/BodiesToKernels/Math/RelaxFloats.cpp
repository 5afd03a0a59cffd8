//===- RelaxFloats.cpp - fast-math flags on floating-point operations -----===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Analysis/SliceAnalysis.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"

namespace stagewright::bodies {
#define GEN_PASS_DEF_BODYRELAXFLOATS
#include "stagewright/Conversion/BodiesToKernels/Passes.h.inc"

namespace {
/// Whether `op` must be rounded as written. A kernel that computes an element
/// again, to compare it with a maximum, a minimum or a mask, must get the same
/// bits however it is fused; so roundings to narrow types must stay too. The
/// sums of reductions get more flags below.
bool isExact(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::CmpFOp,
             arith::TruncFOp, arith::ExtFOp>(op);
}

/// Adds `flags` to those of `op`.
void allow(Operation *op, arith::FastMathFlags flags) {
  auto math = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!math)
    return;
  if (arith::FastMathFlagsAttr given = math.getFastMathFlagsAttr())
    flags = flags | given.getValue();
  op->setAttr(math.getFastMathAttrName(),
              arith::FastMathFlagsAttr::get(op->getContext(), flags));
}

struct BodyRelaxFloatsPass : impl::BodyRelaxFloatsBase<BodyRelaxFloatsPass> {
  void runOnOperation() override {
    using Flags = arith::FastMathFlags;
    getOperation()->walk([](Operation *op) {
      if (!isExact(op))
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
          for (Operation *combiner : combiners) {
            allow(combiner, Flags::reassoc | Flags::contract);
            for (Value operand : combiner->getOperands())
              if (auto product = operand.getDefiningOp<arith::MulFOp>())
                allow(product, Flags::contract);
          }
      }
    });
  }
};
} // namespace
} // namespace stagewright::bodies
